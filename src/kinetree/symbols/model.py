"""The exact model: every number of a robot exact, and its polynomials ready for the algorithms."""

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import REVOLUTE
from kinetree.description.records import Note
from kinetree.model import Frame, Joint, JointFriction, Model
from kinetree.spatial import spatial_inertia
from kinetree.symbols.exact import exact_array, exact_direction, exact_number, exact_rotation
from kinetree.symbols.exact import exact_screw as screw_of
from kinetree.symbols.read import Reader

TOLD = 1e-15  # a rotation that changes by more than rounding is worth a note


def exact_model(model: Model, snap: float) -> tuple[Model, list[Note]]:
    """The same robot in exact numbers, and notes on rotations that were taken as meant.

    Args:
        model: the robot; symbols stay as they are.
        snap: how far an entry of a rotation may be from a simple root to be taken as it.
    """
    notes: list[Note] = []

    def pose(T: Array, owner: str) -> Array:
        T = np.asarray(T)
        R, change = exact_rotation(T[:3, :3], snap)
        if change > TOLD:
            notes.append(Note(f"rotation of {owner} taken as exact, {change:.1e} away"))
        return _pose(R, exact_array(T[:3, 3]))

    homes = zip(model.M_pi, model.joints, strict=True)
    M_pi = [pose(M, f"joint {joint.name!r}") for M, joint in homes]
    frames = {
        name: Frame(frame.link, pose(frame.T_if, f"frame {name!r}"))
        for name, frame in model.frames.items()
    }
    exact = model.replace(
        M_pi=np.array(M_pi, object).reshape(-1, 4, 4),
        m=exact_array(model.m),
        com=_rows(model.com),
        I_com=_rows(model.I_com),
        gravity=exact_array(model.gravity),
        base=(exact_number(model.base[0]), exact_array(model.base[1]), exact_array(model.base[2])),
        joints=tuple(_joint(joint, snap) for joint in model.joints),
        rotors=tuple(
            replace(
                x,
                inertia=exact_number(x.inertia),
                ratio=exact_number(x.ratio),
                s=exact_direction(np.asarray(x.s), snap),
            )
            for x in model.rotors
        ),
        frames=frames,
    )
    return exact, notes


def _rows(x: Array) -> Array:
    """Link by link, so that rounding is judged beside the link's own entries."""
    return np.array([exact_array(row) for row in x], object).reshape(x.shape)


def _pose(R: Array, p: Array) -> Array:
    from sympy import Integer

    row = [Integer(0), Integer(0), Integer(0), Integer(1)]
    return np.array([[*R[k], p[k]] for k in range(3)] + [row], object)


def _joint(joint: Joint, snap: float) -> Joint:
    friction, screw = joint.friction, joint.screw
    return replace(
        joint,
        screw=None if screw is None else screw_of(np.asarray(screw), snap, joint.type == REVOLUTE),
        scale=exact_number(joint.scale),
        offset=exact_offset(joint.offset),
        armature=exact_number(joint.armature),
        friction=JointFriction(_pair(friction.viscous), _pair(friction.coulomb), friction.function),
    )


def _pair(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    first = exact_number(pair[0])
    second = exact_number(pair[1])
    return first, first if first == second else second


def exact_offset(offset: Any) -> Any:
    """An angle that is a simple fraction of pi is that fraction; another number is a decimal."""
    from sympy import Rational, pi

    if isinstance(offset, float):
        twelfths = round(offset * 12 / np.pi)
        if twelfths and abs(offset - twelfths * np.pi / 12) < 1e-15 * abs(twelfths):
            return Rational(twelfths, 12) * pi
    return exact_number(offset)


def polynomial_model(model: Model, reader: Reader) -> Model:
    """The exact model with polynomials for numbers, as the algorithms run on it."""

    def read(x: Any) -> Array:
        x = np.asarray(x)
        out = np.empty(x.shape, object)
        for index, entry in np.ndenumerate(x):
            out[index] = reader.read(entry)
        return out

    def joint(x: Joint) -> Joint:
        return replace(
            x,
            screw=None if x.screw is None else read(x.screw),
            scale=1 if x.scale == 1 else reader.read(x.scale),
            offset=0 if x.offset == 0 else reader.read(x.offset),
            armature=reader.read(x.armature),
            friction=JointFriction(),  # friction is no polynomial; it is added to the results
        )

    result = model.replace(
        M_pi=read(model.M_pi),
        m=read(model.m),
        com=read(model.com),
        I_com=read(model.I_com),
        gravity=read(model.gravity),
        base=(reader.read(model.base[0]), read(model.base[1]), read(model.base[2])),
        joints=tuple(joint(x) for x in model.joints),
        rotors=tuple(
            replace(x, inertia=reader.read(x.inertia), ratio=reader.read(x.ratio), s=read(x.s))
            for x in model.rotors
        ),
        frames={name: Frame(x.link, read(x.T_if)) for name, x in model.frames.items()},
    )
    G = [read(link_inertia(model, i)) for i in model.links]
    vars(result)["G"] = np.array(G, object).reshape(-1, 6, 6)  # the cached property, simplified
    return result


def weightless(model: Model) -> Model:
    """The polynomial model without gravity."""
    result = model.replace(gravity=np.zeros(6, int))
    vars(result)["G"] = model.G
    return result


def link_inertia(model: Model, i: int) -> Array:
    """G of link i; quotients cancel where bodies of symbolic mass were merged into one."""
    from sympy import cancel, expand, fraction, together

    m, com, I_com = model.m[i], model.com[i], model.I_com[i]
    quotients = any(fraction(together(x))[1].free_symbols for x in (*com, *I_com.ravel()))
    G = spatial_inertia(m, com, I_com)
    out = np.empty((6, 6), object)
    for index, entry in np.ndenumerate(G):
        out[index] = expand(cancel(entry)) if quotients else entry
    return out
