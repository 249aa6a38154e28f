"""Random robots in fifty digits, so that differences of functions are derivatives to 25 digits.

A law holds for the robot that the numbers describe. Rounded to float64 its rotations are orthogonal
and its axes of length one to 1e-16 only; `precise` completes both to fifty digits, after which a
law must hold to what the differences leave: a step h = 1e-18 truncates h^2 = 1e-36 and rounds
1e-50 / h = 1e-32. TINY grants eight digits for the growth of numbers along a chain.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from kinetree.model import Frame, Joint, Model
from robot_states import State

H = mpmath.mpf(10) ** -18
TINY = 1e-24


def numbers(x: Any) -> Any:
    """An array of mpmath numbers, exactly the given floats."""
    x = np.asarray(x)
    return np.array([mpmath.mpf(v) for v in x.ravel().tolist()], object).reshape(x.shape)


def precise(model: Model) -> Model:
    """The robot in fifty digits, with exact rotations and unit axes."""
    model = model.astype(mpmath.mpf)
    return model.replace(
        M_pi=np.array([_rigid(M) for M in model.M_pi]),
        joints=tuple(
            joint if joint.screw is None else dataclasses.replace(joint, screw=_axis(joint))
            for joint in model.joints
        ),
        frames={name: Frame(f.link, _rigid(f.T_if)) for name, f in model.frames.items()},
    )


def precise_state(model: Model, x: State) -> State:
    """The state in fifty digits, with unit quaternions."""
    state = State(**{f.name: numbers(getattr(x, f.name)) for f in dataclasses.fields(x)})
    q = state.q.copy()
    for joint in model.joints:
        if joint.type in ("spherical", "free"):
            own = list(joint.coords[:4])
            q[own] = q[own] / mpmath.sqrt(q[own] @ q[own])
    return dataclasses.replace(state, q=q)


def derivative(f: Callable[[Any], Any]) -> Any:
    """f'(0) by a central difference."""
    return (f(H) - f(-H)) / (2 * H)


def _rigid(T: Any) -> Any:
    """T with its rotation made orthogonal; each Newton step doubles the digits."""
    R = T[:3, :3]
    for _ in range(3):
        R = R @ (3 * np.eye(3, dtype=int) - R.T @ R) / 2
    return np.concatenate([np.concatenate([R, T[:3, 3:]], 1), T[3:]])


def _axis(joint: Joint) -> Any:
    """The screw with |w| = 1 (or |v| = 1), a hinge without pitch."""
    w, v = joint.screw[:3], joint.screw[3:]
    if joint.type == "prismatic":
        return np.concatenate([w, v / mpmath.sqrt(v @ v)])
    w = w / mpmath.sqrt(w @ w)
    return np.concatenate([w, v - w * (w @ v) if joint.type == "revolute" else v])
