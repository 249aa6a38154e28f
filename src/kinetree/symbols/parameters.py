"""Symbols as in the book: theta and d for joints; m1, c1x, I1xx, L1, g for a robot's numbers.

Zeros stay zero, and each symbol keeps the number that it replaces.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, Literal, TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.records import named_numbers
from kinetree.errors import InputError
from kinetree.files.description.friction import smooth_laws
from kinetree.files.description.joints import PRISMATIC
from kinetree.model import WORLD, Frame, Joint, Model
from kinetree.model.constraints import Closure
from kinetree.model.joint import COORDINATES, RATES
from kinetree.symbols.exact import with_frames
from kinetree.symbols.ring import Expression

Kind = Literal["inertial", "lengths", "gravity", "friction", "drives", "springs", "all"]
KINDS: tuple[Kind, ...] = ("inertial", "lengths", "gravity", "friction", "drives", "springs")
AXES = "xyz"
X = TypeVar("X")
Values = dict[Expression, Expression]  # symbol -> the number that it replaces


def with_symbols(model: Model, parameters: Kind | Sequence[Kind] | None) -> tuple[Model, Values]:
    """Replace some numbers of an exact model by symbols; returns the numbers, too.

    parameters: some of "inertial" (m1, c1x, I1xx), "lengths" (L1, L1x), "gravity" (g), "friction"
    (b1, f1; fs1 and vs1 of Stribeck, fa1, fk1 and fo1 of a sigmoid), "drives"
    (Ia1 for armature, Im1 and r1 of a rotor), "springs" (k1 for the stiffness, rest1 for the rest
    position, numbered as springs are), or "all".
    """
    kinds = _kinds(parameters)
    values: Values = {}
    steps = (_inertial, _lengths, _gravity, _friction, _drives, _springs)
    for kind, step in zip(KINDS, steps, strict=True):
        if kind in kinds:
            model = step(model, values)
    return model, values


def _kinds(parameters: Kind | Sequence[Kind] | None) -> tuple[str, ...]:
    asked = (parameters,) if isinstance(parameters, str) else tuple(parameters or ())
    kinds = KINDS if asked == ("all",) else asked
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(
                f"parameters are {parameters!r}; expected some of {', '.join(KINDS)}, or 'all'."
            )
    return kinds


def _symbol(name: str, value: Expression, values: Values) -> Expression:
    """A symbol for a number that is not zero; zeros and expressions stay."""
    from sympy import Symbol

    if value == 0 or not value.is_number:
        return value
    positive = name[0] in "mLgk" and value > 0
    symbol = Symbol(name, positive=True) if positive else Symbol(name, real=True)
    values[symbol] = value
    return symbol


def _inertial(model: Model, values: Values) -> Model:
    def inertia(i: int, a: int, b: int) -> Expression:
        return _symbol(f"I{i + 1}{AXES[a]}{AXES[b]}", model.I_com[i][a, b], values)

    m: list[Expression] = []
    com: list[Sequence[Expression]] = []
    I_com: list[list[list[Expression]]] = []
    for i in model.links:
        m.append(_symbol(f"m{i + 1}", model.m[i], values))
        centre = [_symbol(f"c{i + 1}{AXES[k]}", model.com[i][k], values) for k in range(3)]
        com.append(centre if model.m[i] != 0 else model.com[i])
        I_com.append([[inertia(i, *sorted((a, b))) for b in range(3)] for a in range(3)])
    return model.replace(
        m=np.array(m, object),
        com=np.array(com, object).reshape(-1, 3),
        I_com=np.array(I_com, object).reshape(-1, 3, 3),
    )


def _lengths(model: Model, values: Values) -> Model:
    """Positions of joints, tools and closed frames in their link; L1 if one symbol is enough."""
    places = [(model.parent[i], model.M_pi[i]) for i in model.links]
    tools = [] if model.tool is None else [(model.tool, model.frame())]
    places += [(tool.link, tool.T_if) for _, tool in tools]
    constrained = model.constraints
    items = () if constrained is None else constrained.items
    closures = [x for x in items if isinstance(x, Closure)]
    # a frame at a place that has symbols already shares them
    numbers = {_position(*place): k for k, place in reversed([*enumerate(places, 1)])}
    for place in [y for x in closures for y in ((x.link_a, x.T_a), (x.link_b, x.T_b))]:
        if _position(*place) not in numbers:
            places.append(place)
            numbers[_position(*place)] = len(places)
    carried: dict[int, int] = {}
    for link, T in places:
        carried[link] = carried.get(link, 0) + (any(x != 0 for x in T[:3, 3]))

    def moved(number: int, link: int, T: Array) -> Array:
        alone = carried[link] == 1 and sum(x != 0 for x in T[:3, 3]) == 1
        index = f"{link + 1}" if carried[link] == 1 else f"{link + 1}{number}"
        T = T.copy()
        for k in range(3):
            name = f"L{index}" if alone else f"L{index}{AXES[k]}"
            value = T[k, 3]
            sign = -1 if value.is_number and value < 0 else 1  # a length is positive
            T[k, 3] = sign * _symbol(name, sign * value, values)
        return T

    M_pi = [moved(i + 1, *places[i]) for i in model.links]
    frames = dict(model.frames)
    for name, tool in tools:
        if tool.link != WORLD:
            T = moved(numbers[_position(tool.link, tool.T_if)], tool.link, tool.T_if)
            frames[name] = Frame(tool.link, T)

    def closed(link: int, T: Array, _: str) -> Array:
        return moved(numbers[_position(link, T)], link, T)

    constraints = None if constrained is None else with_frames(constrained, closed)
    homes = np.array(M_pi, object).reshape(-1, 4, 4)
    return model.replace(M_pi=homes, frames=frames, constraints=constraints)


def _position(link: int, T: Array) -> tuple[Expression, ...]:
    return (link, *T[:3, 3])


def _gravity(model: Model, values: Values) -> Model:
    axes = [k for k in range(3) if model.gravity[3 + k] != 0]
    gravity = model.gravity.copy()
    for k in axes:
        value = gravity[3 + k]
        sign = -1 if value.is_number and value < 0 else 1
        name = "g" if len(axes) == 1 else f"g{AXES[k]}"
        gravity[3 + k] = sign * _symbol(name, sign * value, values)
    return model.replace(gravity=gravity)


def _with_symbols(record: X, letters: Mapping[str, str], k: int, values: Values) -> X:
    """The record with symbols for some fields, such as b3 for the viscous friction of joint 3.

    Two directions that differ have the symbols b3p and b3n.
    """

    def named(letter: str, old: Any) -> Any:
        if not isinstance(old, tuple):
            return _symbol(f"{letter}{k}", old, values)
        if old[0] is old[1] or old[0] == old[1]:
            return (_symbol(f"{letter}{k}", old[0], values),) * 2
        ends = zip("pn", old, strict=True)
        return tuple(_symbol(f"{letter}{k}{end}", x, values) for end, x in ends)

    changes = {field: named(letter, getattr(record, field)) for field, letter in letters.items()}
    return replace(record, **changes)  # type: ignore[type-var]


def _friction(model: Model, values: Values) -> Model:
    def joint(k: int, x: Joint) -> Joint:
        friction = _with_symbols(x.friction, {"viscous": "b", "coulomb": "f"}, k, values)
        laws: dict[str, Any] = {
            name: _with_symbols(
                law,
                {y.name: y.metadata["symbol"] for y in fields(law)},
                k,
                values,  # type: ignore[arg-type]
            )
            for name, law in smooth_laws(friction).items()
        }
        if friction.stribeck is not None:
            letters = {"static": "fs", "speed": "vs"}
            laws["stribeck"] = _with_symbols(friction.stribeck, letters, k, values)
        return replace(x, friction=replace(friction, **laws))

    return model.replace(joints=tuple(joint(k, x) for k, x in enumerate(model.joints, 1)))


def _drives(model: Model, values: Values) -> Model:
    joints = [
        _with_symbols(x, {"armature": "Ia"}, k, values) for k, x in enumerate(model.joints, 1)
    ]
    rotors = [
        _with_symbols(x, {"inertia": "Im", "ratio": "r"}, x.joint + 1, values) for x in model.rotors
    ]
    return model.replace(joints=tuple(joints), rotors=tuple(rotors))


def _springs(model: Model, values: Values) -> Model:
    letters = {"stiffness": "k", "rest": "rest"}
    springs = [_with_symbols(x, letters, k, values) for k, x in enumerate(model.springs, 1)]
    return model.replace(springs=tuple(springs))


def joint_symbols(model: Model) -> tuple[list[Expression], ...]:
    """q, dq and ddq: theta1 or d1 of joint 1, with theta1_dot and theta1_ddot, numbered as in q.

    Joints of several degrees of freedom have the parts of their coordinates, such as qw3 and x3,
    and of their rates, such as wx3 and vx3 with wx3_dot and vx3_dot.
    """
    q: list[str] = []
    dq: list[str] = []
    ddq: list[str] = []
    for i, joint in enumerate(model.leaders, 1):
        if joint.type in COORDINATES:
            q += [f"{part}{i}" for part in COORDINATES[joint.type]]
            dq += [f"{part}{i}" for part in RATES[joint.type]]
            ddq += [f"{part}{i}_dot" for part in RATES[joint.type]]
        else:
            letter = "d" if joint.type == PRISMATIC else "theta"
            q.append(f"{letter}{i}")
            dq.append(f"{letter}{i}_dot")
            ddq.append(f"{letter}{i}_ddot")
    _check_clash(model, {*q, *dq, *ddq})
    return tuple([joint_symbol(name) for name in names] for names in (q, dq, ddq))


def joint_symbol(name: str) -> Expression:
    """The real symbol of a position, rate or acceleration; LaTeX of d3_dot has a dot over d."""
    from sympy import Symbol

    kind: type[Any] = _dotted_symbol() if name.endswith("dot") else Symbol
    return kind(name, real=True)


@cache
def _dotted_symbol() -> type[Any]:
    """The class of derivatives in time, made when SymPy is needed."""
    from sympy import Symbol as PlainSymbol

    class Symbol(PlainSymbol):  # SymPy sorts factors by the name of their class
        __module__ = PlainSymbol.__module__  # which decides on the arithmetic
        __slots__ = ()

        def _latex(self, printer: Any) -> str:  # SymPy sets dots over d for the name ddot3
            return printer._print(PlainSymbol(re.sub(r"(\d+)_(d?dot)$", r"\2\1", self.name)))

        def __reduce__(self) -> Any:
            return joint_symbol, (self.name,)

    return Symbol


def model_symbols(model: Model) -> set[Expression]:
    """All symbols in the data of an exact model."""
    return _symbols(x for _, values in named_numbers(model) for x in np.asarray(values).flat)


def _symbols(entries: Iterable[Expression]) -> set[Expression]:
    return {symbol for x in entries for symbol in getattr(x, "free_symbols", ())}


def weights(model: Model) -> set[Expression]:
    """Symbols in which the dynamics is linear: masses, inertias, armature; not those of lengths."""
    inertial = [*model.m, model.base[0], *model.I_com.ravel()]
    inertial += [joint.armature for joint in model.joints]
    inertial += [x.inertia for x in (*model.rotors, *model.motors)]
    lengths = [*model.M_pi.ravel(), *model.com.ravel(), *model.base[1]]
    lengths += [x for frame in model.frames.values() for x in frame.T_if.ravel()]
    geometry = _symbols(lengths) - _symbols((*model.m, model.base[0]))
    return _symbols(inertial) - geometry


def _check_clash(model: Model, names: set[str]) -> None:
    for symbol in sorted(model_symbols(model), key=str):
        if symbol.name in names:
            raise InputError(
                f"{model.name!r} has a parameter {symbol.name!r}, which is also the name of a "
                f"joint's symbol: {', '.join(sorted(names))}. Rename the parameter."
            )


def latex_names(symbols: Iterable[Expression]) -> dict[Expression, str]:
    """LaTeX of names whose index SymPy does not recognise: c1x is c_{1x}, I1xx is I_{1xx}."""
    names: dict[Expression, str] = {}
    for symbol in symbols:
        match = re.fullmatch(r"([A-Za-z]+?)(\d+)([a-z]+)", symbol.name)
        if match:
            letter, number, axis = match.groups()
            names[symbol] = f"{letter}_{{{number}{axis}}}"
    return names
