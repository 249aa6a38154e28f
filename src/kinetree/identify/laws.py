"""Friction laws to identify: linear unknowns, and the shapes on which their columns depend.

With dq the rate of the joint itself, a law adds to the joint force

    stribeck   (static - coulomb) f(dq),  f = exp(-(|dq| / speed)^exponent) sign(dq)
    sigmoid    size f(dq),                f = s(k (dq + d)) - s(k d),  s(x) = 1 / (1 + exp(-x))

static and size are linear unknowns, as are viscous and Coulomb friction. The speed, and the
steepness k with the offset d are shapes: `shapes` finds them around the linear problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.dynamics.natural_units import NaturalUnits
from kinetree.errors import InputError, NameLookupError
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.identify import constants as const
from kinetree.identify.loops import motor_dofs
from kinetree.model import Model

FrictionChoice = Literal["symmetric", "directional", "known", "stribeck", "sigmoid"]
FRICTION: tuple[FrictionChoice, ...] = get_args(FrictionChoice)
FrictionChoices = FrictionChoice | Mapping[str, FrictionChoice]
AutoChoice = Literal["auto"] | FrictionChoice  # "auto": chosen from a recording
AutoChoices = AutoChoice | Mapping[str, AutoChoice]
SHAPES = {"stribeck": ("speed",), "sigmoid": ("steepness", "offset")}
SIZES = {"stribeck": "static", "sigmoid": "size"}
WORDS = {"speed": "Stribeck speed", "steepness": "steepness of the sigmoid",
         "offset": "offset of the sigmoid"}  # fmt: skip
PARTS = {"stribeck": "Stribeck effect", "sigmoid": "sigmoid friction"}


@dataclass(frozen=True)
class Law:
    """A friction law with shapes, sought at one joint.

    Args:
        kind: "stribeck" or "sigmoid".
        joint: name of the joint.
        index: index of the joint.
        dof: degree of freedom that moves it.
        ratio: rate of the joint over that of its degree of freedom; not 1 for mimic joints.
        sliding: True for a prismatic joint.
        exponent: of Stribeck friction, as described.
    """

    kind: Literal["stribeck", "sigmoid"]
    joint: str
    index: int
    dof: int
    ratio: float = 1.0
    sliding: bool = False
    exponent: float = const.STRIBECK_EXPONENT

    @property
    def shapes(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each shape."""
        angle = "m" if self.sliding else "rad"
        unit = {"speed": f"{angle}/s", "offset": f"{angle}/s", "steepness": f"s/{angle}"}
        return tuple((f"{x}[{self.joint}]", unit.get(x, "1")) for x in SHAPES[self.kind])

    @property
    def size(self) -> str:
        """Name of the linear unknown."""
        return f"{SIZES[self.kind]}[{self.joint}]"


def chosen_laws(model: Model, friction: AutoChoices) -> dict[str, AutoChoice]:
    """The choice of every joint of one degree of freedom, by name, checked.

    Args:
        model: the robot.
        friction: one choice for all joints, or {joint: choice}; joints left out are "symmetric".
    """
    own = {joint.name: joint for joint in model.joints if joint.type in SCREW_TYPES}
    given: dict[str, AutoChoice] = {}
    given |= friction if isinstance(friction, Mapping) else dict.fromkeys(own, friction)
    choices = ", ".join(("auto", *FRICTION))
    for name, choice in given.items():
        if name not in own:
            raise NameLookupError(
                f"friction names the joint {name!r}; {model.name!r} has friction to find at "
                f"{', '.join(own)}."
            )
        if choice not in ("auto", *FRICTION):
            where = f" of {name!r}" if isinstance(friction, Mapping) else ""
            raise InputError(f"friction{where} is {choice!r}; expected one of {choices}.")
    chosen: dict[str, AutoChoice] = {name: given.get(name, "symmetric") for name in own}
    return chosen if model.constraints is None else _linear_beside_motors(model, chosen)


def _linear_beside_motors(model: Model, chosen: dict[str, AutoChoice]) -> dict[str, AutoChoice]:
    """The choices of a mechanism: laws with shapes act on motors, whose forces are measured."""
    motors = motor_dofs(model)
    single = model.constraints is not None and model.constraints.passive
    for joint in model.joints:
        choice = chosen.get(joint.name, "known")
        bent = single and joint.dofs[0] in motors
        if choice in SIZES and not bent:
            raise InputError(
                f"friction of {joint.name!r} is {choice!r}, which can be found at a motor whose "
                "force it is; expected symmetric, directional or known, since "
                f"{model.name!r} has constraints."
            )
        if choice == "auto" and not bent:
            chosen[joint.name] = "symmetric"
    return chosen


def laws_of(model: Model, choices: Mapping[str, FrictionChoice]) -> tuple[Law, ...]:
    """The laws with shapes among the choices, in the order of the joints."""
    found: list[Law] = []
    for i, joint in enumerate(model.joints):
        kind = choices.get(joint.name, "known")
        if kind == "stribeck" or kind == "sigmoid":
            bend = joint.friction.stribeck
            found.append(
                Law(kind, joint.name, i, joint.dofs[0], float(joint.scale),
                    joint.type == PRISMATIC,
                    const.STRIBECK_EXPONENT if bend is None else float(bend.exponent))
            )  # fmt: skip
    return tuple(found)


def curve(law: Law, rate: Array, shapes: Array) -> Array:
    """f, (T,), of a law with these shapes at rates of the joint, (T,)."""
    if law.kind == "stribeck":
        return np.exp(-((np.abs(rate) / shapes[0]) ** law.exponent)) * np.sign(rate)
    k, d = shapes
    return 0.5 * (np.tanh(0.5 * k * (rate + d)) - np.tanh(0.5 * k * d))


def slopes(law: Law, rate: Array, shapes: Array) -> Array:
    """Derivatives of f by the shapes, (T, s)."""
    if law.kind == "stribeck":
        u = (np.abs(rate) / shapes[0]) ** law.exponent
        return (np.exp(-u) * np.sign(rate) * u * law.exponent / shapes[0])[:, None]
    k, d = shapes
    here, there = (0.25 / np.cosh(np.clip(0.5 * k * x, -350, 350)) ** 2 for x in (rate + d, d))
    return np.stack([here * (rate + d) - there * d, k * (here - there)], axis=1)


def reference(law: Law, units: NaturalUnits) -> Array:
    """Shapes at which random states of the robot show the law, (s,)."""
    rate = float(units.rates[law.dof]) * abs(law.ratio)
    return np.array({"stribeck": [rate], "sigmoid": [2 / rate, 0.1 * rate]}[law.kind])


def shape_units(law: Law, units: NaturalUnits) -> Array:
    """The robot's own unit of each shape, (s,)."""
    rate = float(units.rates[law.dof]) * abs(law.ratio)
    return np.array({"stribeck": [rate], "sigmoid": [1 / rate, rate]}[law.kind])


def described_shapes(law: Law, friction: Friction) -> Array | None:
    """Shapes of the law in a description, (s,); None if it has no such law."""
    if law.kind == "stribeck":
        bend = friction.stribeck
        return None if bend is None else np.array([bend.speed], float)
    bow = friction.sigmoid
    return None if bow is None else np.array([bow.steepness, bow.offset], float)


def grid(law: Law, rate: Array, described: Array | None, coarse: int = 1) -> Array:
    """Shapes to start from, (k, s): all that the rates, (T,), could show, and those described.

    Every axis of the grid has fewer points by the factor `coarse`.
    """
    speed = np.abs(rate[rate != 0])
    fastest = float(speed.max(initial=0)) or 1.0
    slowest = float(np.quantile(speed, 0.002)) if len(speed) else fastest
    slowest = max(slowest, 1e-4 * fastest)
    if law.kind == "stribeck":
        found = np.geomspace(slowest, 2 * fastest, const.GRID_SPEEDS // coarse)[:, None]
    else:
        k = np.geomspace(0.3 / fastest, 3 / slowest, const.GRID_STEEPNESSES // coarse)
        shift = np.linspace(-3, 3, 2 * (const.GRID_SHIFTS // (2 * coarse)) + 1)
        found = np.array([(a, b / a) for a in k for b in shift])
    return found if described is None else np.vstack([described, found])


def moved(law: Law, shapes: Array, step: Array) -> Array:
    """Shapes after a step; positive ones change by a factor of 2 at most and stay positive."""
    factor = np.exp(np.clip(step[0] / shapes[0], -np.log(2), np.log(2)))
    if law.kind == "stribeck":
        return shapes * factor
    shift = np.clip(step[1], -1 / shapes[0], 1 / shapes[0])
    return np.array([shapes[0] * factor, shapes[1] + shift])


def doubt(
    law: Law,
    rate: Array,
    shapes: Array,
    errors: Array,
    size: float,
    error: float,
    still: bool,
) -> str:
    """A sentence if the recording does not determine the law, else "".

    Args:
        law: the law.
        rate: rates of the joint, (T,).
        shapes: values found, (s,).
        errors: their standard errors, (s,).
        size: the factor of the law's curve.
        error: standard error of `size`.
        still: True if the joint does not move.
    """
    words = [WORDS[x] for x in SHAPES[law.kind]]
    if still:
        return f"the recording does not show the friction of {law.joint!r}: the joint stands still"
    relative = errors / np.array([shapes[0], *[1 / shapes[0]] * (len(shapes) - 1)])
    open_ones = [
        word for word, x in zip(words, relative, strict=True) if not x < const.WIDEST_SHAPE
    ]
    if size > const.SURE_LAW * error and not open_ones:
        return ""
    why = _reason(law, rate, shapes)
    if open_ones and size > 0:
        return f"the recording does not determine the {' and the '.join(open_ones)} of " \
               f"{law.joint!r}: {why}"  # fmt: skip
    return f"the recording shows no {PARTS[law.kind]} at {law.joint!r}: {why}"


def _reason(law: Law, rate: Array, shapes: Array) -> str:
    """Why a recording does not determine the shapes of a law."""
    unit = "m/s" if law.sliding else "rad/s"
    speed = np.abs(rate)
    if not (np.any(rate > 0) and np.any(rate < 0)):
        return "the joint never reverses"
    scale = float(shapes[0]) if law.kind == "stribeck" else 1 / float(shapes[0])
    if (slow := int((speed < scale).sum())) <= const.SHAPE_SAMPLES:
        count = counted(slow, "sample") if slow else "no sample"
        return f"{count} slower than {scale:.3g} {unit}; record slow motions"
    if int((speed > scale).sum()) <= const.SHAPE_SAMPLES:
        fastest = float(speed.max(initial=0))
        return f"the curve does not bend below {fastest:.3g} {unit}, the fastest sample"
    return "its effect is within the noise; record slow and fast motions with many reversals"
