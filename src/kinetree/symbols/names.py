"""Symbols as in the book: theta and d for the joints, m, c, I, L, g for what a robot is made of."""

import re
from typing import Any

import numpy as np

from kinetree.description.joints import PRISMATIC
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.joint import COORDINATES, RATES
from kinetree.model.model import numbers_of


def joint_symbols(model: Model) -> tuple[list[Any], list[Any], list[Any]]:
    """q, dq and ddq: theta1 or d1 of joint 1, with thetadot1 and thetaddot1; numbered as q is.

    Joints of several degrees of freedom have the parts of their coordinates, such as qw3 and x3,
    and of their rates, such as wx3 and vx3 with wxdot3 and vxdot3.
    """
    from sympy import Symbol

    q, dq, ddq = [], [], []
    own = [joint for joint in model.joints if joint.follows is None]
    for i, joint in enumerate(own, 1):
        if joint.type in COORDINATES:
            q += [f"{part}{i}" for part in COORDINATES[joint.type]]
            dq += [f"{part}{i}" for part in RATES[joint.type]]
            ddq += [f"{part}dot{i}" for part in RATES[joint.type]]
        else:
            letter = "d" if joint.type == PRISMATIC else "theta"
            q.append(f"{letter}{i}")
            dq.append(f"{letter}dot{i}")
            ddq.append(f"{letter}ddot{i}")
    _check_clash(model, {*q, *dq, *ddq})
    return tuple([Symbol(name, real=True) for name in names] for names in (q, dq, ddq))  # type: ignore[return-value]


def model_symbols(model: Model) -> set[Any]:
    """All symbols that occur in the data of an exact model."""
    entries = [x for _, values in numbers_of(model) for x in np.ravel(values).tolist()]
    return {symbol for x in entries for symbol in x.free_symbols}


def weights(model: Model) -> set[Any]:
    """Symbols that the dynamics is linear in: masses, inertias, armature; no part of a length."""
    inertial = [*model.m, model.base[0], *model.I_com.ravel()]
    inertial += [joint.armature for joint in model.joints]
    inertial += [rotor.inertia for rotor in model.rotors]
    lengths = [*model.M_pi.ravel(), *model.com.ravel(), *model.base[1]]
    lengths += [x for frame in model.frames.values() for x in frame.T_if.ravel()]
    masses = {symbol for x in (*model.m, model.base[0]) for symbol in x.free_symbols}
    geometry = {symbol for x in lengths for symbol in x.free_symbols} - masses
    return {symbol for x in inertial for symbol in x.free_symbols} - geometry


def _check_clash(model: Model, names: set[str]) -> None:
    for symbol in sorted(model_symbols(model), key=str):
        if symbol.name in names:
            raise InputError(
                f"{model.name!r} has a parameter {symbol.name!r}, which is also the name of a "
                f"joint's symbol: {', '.join(sorted(names))}. Rename the parameter."
            )


def latex_names(symbols: Any) -> dict[Any, str]:
    """Indices that SymPy does not see: c1x is c_{1x}, I1xx is I_{1xx}."""
    found = {}
    for symbol in symbols:
        match = re.fullmatch(r"([A-Za-z]+?)(\d+)([a-z]+)", symbol.name)
        if match:
            letter, number, axis = match.groups()
            found[symbol] = f"{letter}_{{{number}{axis}}}"
    return found
