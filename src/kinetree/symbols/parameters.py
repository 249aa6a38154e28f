"""Symbols in place of a robot's numbers: m1, c1x, I1xx, L1, g, as the book names them.

Zeros stay zero, and each symbol remembers the number that it stands for.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import WORLD, Frame, Joint, JointFriction, Model

KINDS = ("inertial", "lengths", "gravity", "friction", "drives")
AXES = "xyz"
Values = dict[Any, Any]


def with_symbols(model: Model, parameters: str | Sequence[str] | None) -> tuple[Model, Values]:
    """The exact model with symbols for some of its numbers, and what the symbols stand for.

    Args:
        model: an exact model; what is symbolic already stays as it is.
        parameters: some of "inertial" (m1, c1x, I1xx), "lengths" (L1, L1x), "gravity" (g),
            "friction" (b1, f1), "drives" (Ia1 for armature, Im1 and r1 of a rotor), or "all".
    """
    kinds = _kinds(parameters)
    values: Values = {}
    steps = {
        "inertial": _inertial,
        "lengths": _lengths,
        "gravity": _gravity,
        "friction": _friction,
        "drives": _drives,
    }
    for kind in KINDS:
        if kind in kinds:
            model = steps[kind](model, values)
    return model, values


def _kinds(parameters: str | Sequence[str] | None) -> tuple[str, ...]:
    given = (parameters,) if isinstance(parameters, str) else tuple(parameters or ())
    kinds = KINDS if given == ("all",) else given
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(
                f"parameters are {parameters!r}; expected some of {', '.join(KINDS)}, or 'all'."
            )
    return kinds


def _symbol(name: str, value: Any, values: Values) -> Any:
    """A symbol for a number that is not zero."""
    from sympy import Symbol

    if value == 0 or not value.is_number:
        return value
    positive = name[0] in "mLg" and value > 0
    symbol = Symbol(name, positive=True) if positive else Symbol(name, real=True)
    values[symbol] = value
    return symbol


def _inertial(model: Model, values: Values) -> Model:
    m, com, I_com = [], [], []
    for i in model.links:
        m.append(_symbol(f"m{i + 1}", model.m[i], values))
        own = [_symbol(f"c{i + 1}{AXES[k]}", model.com[i][k], values) for k in range(3)]
        com.append(own if model.m[i] != 0 else model.com[i])
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
    """Positions of joints and tools in the link that carries them; L1 where one entry has to do."""
    places = [(model.parent[i], model.M_pi[i]) for i in model.links]
    tool = model.frames[model.tool]
    places.append((tool.link, tool.T_if))
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
    if tool.link != WORLD:
        frames[model.tool] = Frame(tool.link, moved(len(places), *places[-1]))
    return model.replace(M_pi=np.array(M_pi, object).reshape(-1, 4, 4), frames=frames)


def _gravity(model: Model, values: Values) -> Model:
    found = [k for k in range(3) if model.gravity[3 + k] != 0]
    gravity = model.gravity.copy()
    for k in found:
        value = gravity[3 + k]
        sign = -1 if value.is_number and value < 0 else 1
        name = "g" if len(found) == 1 else f"g{AXES[k]}"
        gravity[3 + k] = sign * _symbol(name, sign * value, values)
    return model.replace(gravity=gravity)


def _friction(model: Model, values: Values) -> Model:
    def pair(name: str, old: tuple[Any, Any]) -> tuple[Any, Any]:
        if old[0] is old[1] or old[0] == old[1]:
            symbol = _symbol(name, old[0], values)
            return symbol, symbol
        return _symbol(f"{name}p", old[0], values), _symbol(f"{name}n", old[1], values)

    def joint(i: int, x: Joint) -> Joint:
        old = x.friction
        viscous, coulomb = pair(f"b{i + 1}", old.viscous), pair(f"f{i + 1}", old.coulomb)
        return replace(x, friction=JointFriction(viscous, coulomb, old.function))

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
