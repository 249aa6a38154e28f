"""Friction of a joint in the model: checked numbers, as pairs for both directions.

A change of the Coulomb coefficients (free parameters, identified ones, samples of a study) keeps
the difference between static and Coulomb friction. So tau stays linear in the coefficients, with
the columns of a robot without the Stribeck effect, and static friction stays the larger one.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from numbers import Number
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kinetree.core.arrays import known_number, scalar
from kinetree.core.text import counted
from kinetree.errors import InputError
from kinetree.files.description.drive import Drive
from kinetree.files.description.friction import (
    SMOOTH,
    Dahl,
    Friction,
    LuGre,
    OneOrPair,
    Presliding,
    Sigmoid,
    SmoothLaw,
    Stribeck,
    law_numbers,
    smooth_laws,
)
from kinetree.scalars import Scalar

if TYPE_CHECKING:
    from kinetree.engine.compiler.law import TracedLaw

Pair = tuple[Scalar, Scalar]


@dataclass(frozen=True)
class JointStribeck:
    """Stribeck effect with static friction as (positive direction, negative direction)."""

    static: Pair
    speed: Scalar
    exponent: float


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint, coefficients as (positive direction, negative direction).

    load: coefficients for a force that drives the motion and for one that brakes it, for
    `motor_forces` alone. function: as it was when the user gave it; it compares by what it
    computes.
    """

    viscous: Pair = (0, 0)
    coulomb: Pair = (0, 0)
    function: "TracedLaw | None" = None
    _: KW_ONLY
    load: Pair = (0, 0)
    stribeck: JointStribeck | None = None
    sigmoid: Sigmoid | None = None
    presliding: Presliding | None = None

    @property
    def record(self) -> Friction:
        """The friction as a user gives it, with one number where both directions have the same."""
        bend = self.stribeck
        if bend is not None:
            bend = Stribeck(_one(bend.static), bend.speed, bend.exponent)
        return Friction(
            _one(self.viscous),
            _one(self.coulomb),
            self.function,
            stribeck=bend,
            load=_one(self.load),
            presliding=self.presliding,
            **smooth_laws(self),
        )


def _one(pair: Pair) -> OneOrPair:
    return pair[0] if is_symmetric(pair) else pair


def joint_friction(
    friction: Friction, joint: str, follows: str | None = None, kind: str = "joint"
) -> JointFriction:
    """Friction as described, checked, with one coefficient or two as pairs for both directions.

    friction: the record of the user. joint: name of the joint, or of another `kind`, in messages.
    follows: name of the joint that it follows, None if it moves by itself.
    """
    owner = f"{kind} {joint!r}"
    if not isinstance(friction, Friction):
        raise InputError(f"friction of {owner} is {friction!r}; expected a record Friction(...).")
    function = friction.function
    if not (function is None or callable(function)):
        raise InputError(
            f"friction function of {owner} is {function!r}; expected a function b(dq)."
        )
    law = cast("TracedLaw | None", function)  # Friction traces any function that it is given
    viscous = _pair(friction.viscous, f"viscous friction of {owner}")
    coulomb = _pair(friction.coulomb, f"coulomb friction of {owner}")
    checked = JointFriction(
        viscous,
        coulomb,
        law,
        stribeck=_stribeck(friction.stribeck, coulomb, owner),
        load=_load(friction.load, owner, follows),
        **{name: _smooth(name, getattr(friction, name), owner) for name in SMOOTH},
    )
    presliding = friction.presliding
    if presliding is None:
        return checked
    if kind != "joint":
        raise InputError(
            f"friction of {owner} has presliding, whose state belongs to joints; expected friction "
            "without it."
        )
    return replace(checked, presliding=_presliding(presliding, checked, joint))


def _presliding(record: Presliding, friction: JointFriction, joint: str) -> Presliding:
    what = f"presliding of joint {joint!r}"
    if not isinstance(record, LuGre | Dahl):
        raise InputError(
            f"{what} is {record!r}; expected a record LuGre(stiffness, damping), "
            "Dahl(stiffness) or None."
        )
    numbers = {x.name: getattr(record, x.name) for x in fields(record)}
    low = {"stiffness": "above 0", "damping": "at least 0", "exponent": "at least 1"}
    for name, value in numbers.items():
        plain = isinstance(value, int | float | np.number) and np.isfinite(value)
        least = 1 if name == "exponent" else 0
        if not plain or value < least or (name == "stiffness" and value == 0):
            raise InputError(
                f"{name} of the {what} is {value!r}; expected a plain number, {low[name]}."
            )
    for level in friction.coulomb:
        number = known_number(level)
        if number is not None and number <= 0:
            raise InputError(
                f"{what} needs Coulomb friction, which is {level}; expected above 0 in both "
                "directions, the friction that it approaches in sliding."
            )
    return type(record)(**{name: float(x) for name, x in numbers.items()})


def _stribeck(record: Stribeck | None, coulomb: Pair, owner: str) -> JointStribeck | None:
    if record is None:
        return None
    if not isinstance(record, Stribeck):
        raise InputError(
            f"stribeck of the friction of {owner} is {record!r}; expected a record "
            "Stribeck(static, speed) or None."
        )
    static = _pair(record.static, f"static friction of {owner}")
    for most, least in zip(static, coulomb, strict=True):
        difference = known_number(most - least)
        if difference is not None and difference < 0:
            raise InputError(
                f"static friction of {owner} is {most}, below its coulomb friction "
                f"{least}; expected at least that much, in both directions (friction at the start "
                "of a motion is the larger one)."
            )
    speed = _above_zero(record.speed, f"Stribeck speed of {owner}", "rad/s or m/s")
    what = f"Stribeck exponent of {owner}"
    exponent = _above_zero(record.exponent, what, "such as 1 or 2")
    if not isinstance(record.exponent, int | float | np.number):
        raise InputError(
            f"{what} is {record.exponent!r}; expected a plain number, such as 1 or 2. It cannot be "
            "a symbol or an argument of a kernel."
        )
    exponent = float(exponent)
    return JointStribeck(static, speed, int(exponent) if exponent.is_integer() else exponent)


def _smooth(name: str, record: SmoothLaw | None, owner: str) -> Any:
    if record is None:
        return None
    kind = SMOOTH[name]
    if not isinstance(record, kind):
        numbers = ", ".join(x.name for x in fields(kind))  # type: ignore[arg-type]
        raise InputError(
            f"{name} of the friction of {owner} is {record!r}; expected a record "
            f"{kind.__name__}({numbers}) or None."
        )
    checked: dict[str, Scalar] = {}
    for x in fields(kind):  # type: ignore[arg-type]
        value, what = getattr(record, x.name), f"{name} {x.name} of {owner}"
        if x.metadata["low"] == "at least 0":
            checked[x.name] = _pair(value, what, single=True)[0]
        elif x.metadata["low"] == "above 0":
            checked[x.name] = _above_zero(value, what, x.metadata["unit"])
        else:
            checked[x.name] = scalar(value, what)
    return kind(**checked)


def _load(value: OneOrPair, owner: str, follows: str | None) -> Pair:
    what = f"load friction of {owner}"
    pair = _pair(value, what)
    number = known_number(pair[1])
    if number is not None and number >= 1:
        both = "" if isinstance(value, tuple | list) else " where the force brakes the motion"
        raise InputError(
            f"{what} is {pair[1]}{both}; expected below 1 there, since friction of the whole load "
            "would stop any motion. Give a pair (driving, braking); a gear of efficiency eta has "
            "(1/eta - 1, 1 - eta)."
        )
    if follows is not None and not is_zero(pair):
        raise InputError(
            f"{owner} follows {follows!r} and has no force of its own, so it has no load "
            f"friction; give it to {follows!r}, whose force moves both."
        )
    return pair


def with_efficiency(friction: JointFriction, drive: Drive | None, joint: str) -> JointFriction:
    """The friction with the loss of the joint's drive, which is load friction.

    A drive of efficiency eta needs the force load / eta where it drives the motion, and eta * load
    where the load drives it.
    """
    if drive is None or drive.efficiency == 1:
        return friction
    eta = drive.efficiency
    loss: Pair = (1 / eta - 1, 1 - eta)
    if not (is_zero(friction.load) or friction.load == loss):
        raise InputError(
            f"joint {joint!r} has the load friction {friction.load} and a drive of efficiency "
            f"{eta:g}; expected one of them, since both describe the loss in its gear. Leave out "
            "load in its friction, or set the efficiency to 1."
        )
    return replace(friction, load=loss)


def without_efficiency(friction: JointFriction, drive: Drive | None) -> JointFriction:
    """The friction as it was given, without the loss of the drive."""
    lossless = drive is None or drive.efficiency == 1
    return friction if lossless else replace(friction, load=(0, 0))


def _pair(value: OneOrPair, what: str, single: bool = False) -> Pair:
    """(positive, negative) coefficients, checked to be numbers or symbols and not negative."""
    entries = value if isinstance(value, tuple | list) else (value, value)
    if len(entries) != 2 or (single and isinstance(value, tuple | list)):
        also = "" if single else " or a pair (positive direction, negative direction)"
        raise InputError(f"{what} has {counted(len(entries), 'entry')}; expected one number{also}.")
    first, second = (scalar(entry, what) for entry in entries)
    for entry in (first, second):
        number = known_number(entry)
        if number is not None and number < 0:
            where = "" if single else " in both directions"
            raise InputError(
                f"{what} is {entry}; expected >= 0{where} (friction takes energy out)."
            )
    return first, second


def _above_zero(value: Scalar, what: str, unit: str) -> Scalar:
    checked = scalar(value, what)
    number = known_number(checked)
    if number is not None and not number > 0:
        raise InputError(f"{what} is {checked}; expected a number above 0, {unit}.")
    return checked


def with_coefficients(friction: JointFriction, viscous: Pair, coulomb: Pair) -> JointFriction:
    """The same laws with other viscous and Coulomb coefficients; static friction moves along."""
    shape = friction.stribeck
    if shape is not None:
        levels = zip(shape.static, friction.coulomb, coulomb, strict=True)
        first, second = (static + (new - old) for static, old, new in levels)
        shape = replace(shape, static=(first, second))
    return replace(friction, viscous=viscous, coulomb=coulomb, stribeck=shape)


def beyond_coefficients(friction: JointFriction) -> JointFriction:
    """The part that is not linear in the coefficients of `dynamics.parameters`.

    A Stribeck effect on no Coulomb friction: (static - coulomb) exp(...) sign(dq); sigmoid, load
    and function as they are.
    """
    return with_coefficients(friction, (0, 0), (0, 0))


def law_texts(friction: JointFriction, number: Callable[[Any], str]) -> dict[str, str]:
    """The laws besides viscous and Coulomb friction, by name, each with its numbers as text."""

    def pair(x: Pair) -> str:
        return number(x[0]) if is_symmetric(x) else f"{number(x[0])} and {number(x[1])}"

    texts: dict[str, str] = {}
    bend, load = friction.stribeck, friction.load
    if bend is not None:
        texts["Stribeck"] = (
            f"static {pair(bend.static)}, speed {number(bend.speed)}, exponent "
            f"{number(bend.exponent)}"
        )
    for name, law in smooth_laws(friction).items():
        texts[name] = ", ".join(f"{x} {number(value)}" for x, value in law_numbers(law).items())
    if friction.presliding is not None:
        values = {x.name: getattr(friction.presliding, x.name) for x in fields(friction.presliding)}
        name = type(friction.presliding).__name__
        texts[name] = ", ".join(f"{x} {number(value)}" for x, value in values.items())
    if not is_zero(load):
        texts["load"] = f"driving {number(load[0])}, braking {number(load[1])}"
    if friction.function is not None:
        texts["function"] = "by a function"
    return texts


def has_more_laws(friction: JointFriction) -> bool:
    """Return True if the friction has parts besides viscous and Coulomb friction."""
    parts = (friction.function, friction.stribeck, *smooth_laws(friction).values())
    return any(part is not None for part in parts) or not is_zero(friction.load)


def is_symmetric(pair: Pair) -> bool:
    """Return True if both are one object, equal numbers or equal expressions."""
    a, b = pair
    known = all(isinstance(x, Number) or hasattr(x, "free_symbols") for x in pair)
    return a is b or (known and bool(a == b))


def is_zero(pair: Pair) -> bool:
    """Return True if both are the number 0 of any kind; symbols and traced scalars are not."""
    a, b = pair
    return isinstance(a, Number) and a == 0 and isinstance(b, Number) and b == 0
