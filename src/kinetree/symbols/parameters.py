"""Symbols as in the book: theta and d for joints; m1, c1x, I1xx, L1, g for a robot's numbers.

Zeros stay zero, and each symbol keeps the number that it replaces.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.records import named_numbers
from kinetree.errors import InputError
from kinetree.files.description.friction import smooth_laws
from kinetree.files.description.joints import PRISMATIC
from kinetree.model import WORLD, Frame, Joint, Model
from kinetree.model.constraints import Closure, Coupling
from kinetree.model.joint import COORDINATES, RATES
from kinetree.symbols.ring import Expression

Kind = Literal["inertial", "lengths", "gravity", "friction", "drives", "springs", "all"]
KINDS: tuple[Kind, ...] = ("inertial", "lengths", "gravity", "friction", "drives", "springs")
AXES = "xyz"
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
    steps = {
        "inertial": _inertial,
        "lengths": _lengths,
        "gravity": _gravity,
        "friction": _friction,
        "drives": _drives,
        "springs": _springs,
    }
    for kind in KINDS:
        if kind in kinds:
            model = steps[kind](model, values)
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
    m: list[Expression] = []
    com: list[Sequence[Expression]] = []
    I_com: list[list[list[Expression]]] = []
    for i in model.links:
        m.append(_symbol(f"m{i + 1}", model.m[i], values))
        centre = [_symbol(f"c{i + 1}{AXES[k]}", model.com[i][k], values) for k in range(3)]
        com.append(centre if model.m[i] != 0 else model.com[i])
        entry = {
            (a, b): _symbol(f"I{i + 1}{AXES[a]}{AXES[b]}", model.I_com[i][a, b], values)
            for a in range(3)
            for b in range(a, 3)
        }
        I_com.append([[entry[min(a, b), max(a, b)] for b in range(3)] for a in range(3)])
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

    def closed(link: int, T: Array) -> Array:
        return moved(numbers[_position(link, T)], link, T)

    def item(x: Closure | Coupling) -> Closure | Coupling:
        if isinstance(x, Coupling):
            return x
        return replace(x, T_a=closed(x.link_a, x.T_a), T_b=closed(x.link_b, x.T_b))

    constraints = (
        None if constrained is None else replace(constrained, items=tuple(map(item, items)))
    )
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


def _friction(model: Model, values: Values) -> Model:
    def pair(name: str, old: tuple[Expression, Expression]) -> tuple[Expression, Expression]:
        if old[0] is old[1] or old[0] == old[1]:
            symbol = _symbol(name, old[0], values)
            return symbol, symbol
        return _symbol(f"{name}p", old[0], values), _symbol(f"{name}n", old[1], values)

    def joint(i: int, x: Joint) -> Joint:
        old = x.friction
        k, bend = i + 1, old.stribeck
        new = replace(old, viscous=pair(f"b{k}", old.viscous), coulomb=pair(f"f{k}", old.coulomb))
        if bend is not None:
            speed = _symbol(f"vs{k}", bend.speed, values)
            new = replace(
                new, stribeck=replace(bend, static=pair(f"fs{k}", bend.static), speed=speed)
            )
        for name, law in smooth_laws(old).items():
            symbols = {
                x.name: _symbol(f"{x.metadata['symbol']}{k}", getattr(law, x.name), values)
                for x in fields(law)  # type: ignore[arg-type]
            }
            new = replace(new, **{name: replace(law, **symbols)})
        return replace(x, friction=new)

    return model.replace(joints=tuple(joint(i, x) for i, x in enumerate(model.joints)))


def _drives(model: Model, values: Values) -> Model:
    joints = tuple(
        replace(x, armature=_symbol(f"Ia{i + 1}", x.armature, values))
        for i, x in enumerate(model.joints)
    )
    rotors = tuple(
        replace(
            x,
            inertia=_symbol(f"Im{x.joint + 1}", x.inertia, values),
            ratio=_symbol(f"r{x.joint + 1}", x.ratio, values),
        )
        for x in model.rotors
    )
    return model.replace(joints=joints, rotors=rotors)


def _springs(model: Model, values: Values) -> Model:
    springs = tuple(
        replace(
            x,
            stiffness=_symbol(f"k{i}", x.stiffness, values),
            rest=_symbol(f"rest{i}", x.rest, values),
        )
        for i, x in enumerate(model.springs, 1)
    )
    return model.replace(springs=springs)


def joint_symbols(
    model: Model,
) -> tuple[list[Expression], list[Expression], list[Expression]]:
    """q, dq and ddq: theta1 or d1 of joint 1, with theta1_dot and theta1_ddot, numbered as in q.

    Joints of several degrees of freedom have the parts of their coordinates, such as qw3 and x3,
    and of their rates, such as wx3 and vx3 with wx3_dot and vx3_dot.
    """
    q: list[str] = []
    dq: list[str] = []
    ddq: list[str] = []
    leaders = [joint for joint in model.joints if joint.follows is None]
    for i, joint in enumerate(leaders, 1):
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
    made = ([joint_symbol(name) for name in names] for names in (q, dq, ddq))
    positions, rates, accelerations = made
    return positions, rates, accelerations


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
