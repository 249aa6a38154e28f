"""Friction laws to identify: linear unknowns, and the shapes on which their columns depend.

With dq the rate of the joint itself, a law adds to the joint force

    stribeck   (static - coulomb) f(dq),  f = exp(-(|dq| / speed)^exponent) sign(dq)
    sigmoid    size f(dq),                f = s(k (dq + d)) - s(k d),  s(x) = 1 / (1 + exp(-x))

static and size are linear unknowns, as are viscous and Coulomb friction. The speed, and the
steepness k with the offset d are shapes: `shapes` finds them around the linear problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import NaturalUnits
from kinetree.errors import InputError, NameLookupError
from kinetree.files.description.friction import Friction, Sigmoid, Stribeck
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.identify.loops import motor_dofs
from kinetree.model import Model

FrictionChoice = Literal["symmetric", "directional", "known", "stribeck", "sigmoid"]
FrictionChoices = FrictionChoice | Mapping[str, FrictionChoice]
AutoChoice = Literal["auto"] | FrictionChoice  # "auto": chosen from a recording
AutoChoices = AutoChoice | Mapping[str, AutoChoice]
SHAPES = {"stribeck": ("speed",), "sigmoid": ("steepness", "offset")}
SIZES = {"stribeck": "static", "sigmoid": "size"}


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
    exponent: float = 2.0

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

    @property
    def parts(self) -> dict[str, int]:
        """Unknowns whose columns have the curve of the law, and its sign in each."""
        if self.kind == "stribeck":  # coulomb + (static - coulomb) f
            return {self.size: 1, f"coulomb[{self.joint}]": -1}
        return {self.size: 1}


def chosen_laws(model: Model, friction: AutoChoices) -> dict[str, AutoChoice]:
    """The choice of every joint of one degree of freedom, by name, checked.

    Laws with shapes act on the joints of a tree, and on motors whose forces are measured.

    Args:
        model: the robot.
        friction: one choice for all joints, or {joint: choice}; joints left out are "symmetric".
    """
    own = {joint.name: joint for joint in model.joints if joint.type in SCREW_TYPES}
    given: Mapping[str, AutoChoice] = (
        friction if isinstance(friction, Mapping) else dict.fromkeys(own, friction)
    )
    words = ("auto", *get_args(FrictionChoice))
    for name, choice in given.items():
        if name not in own:
            raise NameLookupError(
                f"friction names the joint {name!r}; {model.name!r} has friction to find at "
                f"{', '.join(own)}."
            )
        if choice not in words:
            where = f" of {name!r}" if isinstance(friction, Mapping) else ""
            raise InputError(f"friction{where} is {choice!r}; expected one of {', '.join(words)}.")
    chosen: dict[str, AutoChoice] = {name: given.get(name, "symmetric") for name in own}
    passive = model.constraints is None or model.constraints.passive
    for name, joint in own.items():
        bent = passive and joint.dofs[0] in motor_dofs(model)
        if chosen[name] == "auto" and (joint.follows is not None or not bent):
            chosen[name] = "symmetric"
        if chosen[name] in SIZES and not bent:
            raise InputError(
                f"friction of {name!r} is {chosen[name]!r}, which can be found at a motor whose "
                "force it is; expected symmetric, directional or known, since "
                f"{model.name!r} has constraints."
            )
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
                    2.0 if bend is None else float(bend.exponent))
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


def described(law: Law, friction: Friction) -> tuple[float | None, Array | None]:
    """Size and shapes, (s,), of the law in a description; None where it has no such law."""
    if law.kind == "stribeck":
        bend = friction.stribeck
        static = friction.coulomb if bend is None else bend.static
        size = float(np.mean(np.array(static, float)))
        return size, None if bend is None else np.array([bend.speed], float)
    bow = friction.sigmoid
    if bow is None:
        return None, None
    return float(bow.size), np.array([bow.steepness, bow.offset], float)


def with_law(law: Law, friction: Friction, size: float, shapes: list[float]) -> Friction:
    """Friction with the law of these numbers."""
    if law.kind == "stribeck":
        return replace(friction, stribeck=Stribeck((size, size), shapes[0], law.exponent))
    return replace(friction, sigmoid=Sigmoid(size, *shapes))


def grid(law: Law, rate: Array) -> list[Array]:
    """Shapes to start from: those that the rates of the joint, (T,), could show."""
    speed = np.abs(rate[rate != 0])
    fastest = float(speed.max(initial=0)) or 1.0
    slowest = max(float(np.quantile(speed, 0.01)) if len(speed) else fastest, 1e-3 * fastest)
    speeds = np.geomspace(slowest, fastest, 8)
    if law.kind == "stribeck":
        return [np.array([x]) for x in speeds]
    return [np.array([2 / x, 0.0]) for x in speeds]  # tanh(dq / x), symmetric
