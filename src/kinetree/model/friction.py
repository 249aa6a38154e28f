"""Friction of a joint or motor, checked; and the part that is linear in two coefficients.

A change of the Coulomb coefficients (free parameters, identified ones, samples of a study) keeps
the difference between static and Coulomb friction. So tau stays linear in the coefficients, with
the columns of a robot without the Stribeck effect, and static friction stays the larger one.
"""

from collections.abc import Callable
from dataclasses import replace
from numbers import Number
from typing import Any

from kinetree.core.arrays import known_number
from kinetree.core.records import check_range, checked
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction, Pair, Stribeck, law_numbers, smooth_laws


def checked_friction(friction: Friction, joint: str, kind: str = "joint") -> Friction:
    """The friction of a joint, or of another `kind`, with numbers that are possible."""
    owner = f"{kind} {joint!r}"
    found = checked(friction, Friction, f"friction of {owner}")
    if not (found.function is None or callable(found.function)):
        raise InputError(
            f"friction function of {owner} is {found.function!r}; expected a function b(dq)."
        )
    if found.stribeck is not None:
        found = replace(found, stribeck=_stribeck(found.stribeck, found.coulomb, owner))
    if found.presliding is not None:
        _check_presliding(found, owner, kind)
    braking = known_number(found.load[1])
    if braking is not None and braking >= 1:
        raise InputError(
            f"load friction of {owner} is {braking} where the force brakes the motion; expected "
            "below 1. A gear of efficiency eta has the pair (1/eta - 1, 1 - eta)."
        )
    return found


def _stribeck(bend: Stribeck, coulomb: Pair, owner: str) -> Stribeck:
    for most, least in zip(bend.static, coulomb, strict=True):
        difference = known_number(most - least)
        if difference is not None and difference < 0:
            raise InputError(
                f"static friction of {owner} is {most}, below its coulomb friction {least}; "
                "expected at least that much, in both directions."
            )
    whole = float(bend.exponent).is_integer()  # exact powers of symbols stay exact
    return replace(bend, exponent=int(bend.exponent) if whole else bend.exponent)


def _check_presliding(friction: Friction, owner: str, kind: str) -> None:
    if kind != "joint":
        raise InputError(
            f"friction of {owner} has presliding, whose state belongs to joints; expected friction "
            "without it."
        )
    for level in friction.coulomb:
        what = f"Coulomb friction of {owner}, which has presliding,"
        check_range(level, what, "above 0", "in both directions")


def with_coefficients(friction: Friction, viscous: Pair, coulomb: Pair) -> Friction:
    """The same laws with other viscous and Coulomb coefficients; static friction moves along."""
    shape = friction.stribeck
    if shape is not None:
        levels = zip(shape.static, friction.coulomb, coulomb, strict=True)
        first, second = (static + (new - old) for static, old, new in levels)
        shape = replace(shape, static=(first, second))
    return replace(friction, viscous=viscous, coulomb=coulomb, stribeck=shape)


def beyond_coefficients(friction: Friction) -> Friction:
    """The part that is not linear in the coefficients of `dynamics.parameters`.

    A Stribeck effect on no Coulomb friction: (static - coulomb) exp(...) sign(dq); sigmoid, load
    and function as they are.
    """
    return with_coefficients(friction, (0, 0), (0, 0))


def law_texts(friction: Friction, number: Callable[[Any], str]) -> dict[str, str]:
    """The laws besides viscous and Coulomb friction, by name, each with its numbers as text."""
    bend, memory, texts = friction.stribeck, friction.presliding, dict[str, str]()
    if bend is not None:
        static = " and ".join(map(number, bend.static[: 1 if is_symmetric(bend.static) else 2]))
        texts["Stribeck"] = (
            f"static {static}, speed {number(bend.speed)}, exponent {number(bend.exponent)}"
        )
    laws: dict[str, Any] = smooth_laws(friction)
    if memory is not None:
        laws[type(memory).__name__] = memory
    for name, law in laws.items():
        texts[name] = ", ".join(f"{x} {number(value)}" for x, value in law_numbers(law).items())
    if not is_zero(friction.load):
        texts["load"] = f"driving {number(friction.load[0])}, braking {number(friction.load[1])}"
    if friction.function is not None:
        texts["function"] = "by a function"
    return texts


def has_more_laws(friction: Friction) -> bool:
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
