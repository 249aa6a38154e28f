"""Where the bodies of an MJCF file stand, which joints they hang on, and what they weigh."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC, REVOLUTE
from kinetree.errors import ModelError
from kinetree.model import Model
from kinetree.spatial.inertia import symmetric
from kinetree.spatial.se3 import Ad, inverse
from kinetree.spatial.so3 import quaternion
from kinetree.write.xml import Tag, number, numbers

SMALLEST = 1e-15  # MuJoCo's mjMINVAL: less mass or moment than this it refuses on what moves


@dataclass(frozen=True)
class Step:
    """One joint of a body: the link it moves here, M_pb of the body, the screw in its frame."""

    link: int
    M_pb: Array
    screw: Array | None


def body_steps(model: Model, first: int) -> list[Step]:
    """The joints of one MuJoCo body: those of massless links from `first` on, then its own.

    M_1 exp(A_1 q_1) M_2 exp(A_2 q_2) = (M_1 M_2) exp(Ad(M_2^-1) A_1 q_1) exp(A_2 q_2): all screws
    of a body are given in its own frame.
    """
    run = [first]
    while _is_massless(model, run[-1]):
        run.append(_only_child(model, run[-1]))
    M, steps = np.eye(4), []
    for i in reversed(run):
        screw = model.joints[i].screw
        turned = screw if screw is None or i == run[-1] else Ad(inverse(M)) @ screw
        M = model.M_pi[i] if i == run[-1] else model.M_pi[i] @ M
        steps.append((i, turned))
    return [Step(i, M, screw) for i, screw in reversed(steps)]


def _is_massless(model: Model, i: int) -> bool:
    return not (model.m[i] or np.any(model.I_com[i]))


def _only_child(model: Model, i: int) -> int:
    name, children = model.link_names[i], model.children[i]
    if len(children) != 1 or model.joints[i].type not in (REVOLUTE, PRISMATIC):
        raise ModelError(
            f"link {name!r} moves and is massless, which MuJoCo refuses unless it lies between "
            f"two joints; found {len(children)} links on its {model.joints[i].type} joint. Give it "
            f"a mass, or lock joint {model.joints[i].name!r}."
        )
    return children[0]


def pose_attributes(T: Array) -> dict[str, str]:
    """Attributes pos and quat (w x y z) of a pose; none for what is zero."""
    attributes = {}
    if np.any(T[:3, 3]):
        attributes["pos"] = numbers(T[:3, 3])
    if not np.array_equal(T[:3, :3], np.eye(3)):
        attributes["quat"] = numbers(quaternion(T[:3, :3]))
    return attributes


def inertial_tag(m: Any, com: Array, I_com: Array, *, name: str, moves: bool) -> Tag | None:
    """<inertial> with principal moments and their axes; None for nothing at all."""
    if not (m or np.any(I_com)):
        return None
    moments, R = principal_moments(I_com)
    _check(m, moments, name, moves)
    attributes = {"mass": number(m), "diaginertia": numbers(_within_triangle(moments, name))}
    turn = {} if np.array_equal(R, np.eye(3)) else {"quat": numbers(quaternion(R))}
    return Tag("inertial", {"pos": numbers(com), **turn, **attributes})


def principal_moments(I: Array) -> tuple[Array, Array]:
    """Moments and axes with I = R diag(moments) R^T; a diagonal I is left as it is."""
    I = symmetric(I)
    if not np.any(I - np.diag(np.diag(I))):
        return np.diag(I), np.eye(3)
    moments, R = np.linalg.eigh(I)
    return moments, R if np.linalg.det(R) > 0 else R * np.array([1, 1, -1])


def _check(m: Any, moments: Array, name: str, moves: bool) -> None:
    least = SMALLEST if moves else 0
    if m < least or moments.min() < least:
        raise ModelError(
            f"link {name!r} has the mass {m:g} kg and principal moments {moments.tolist()} kg m^2; "
            f"MuJoCo refuses less than {least:g} of each. Give the link some extent."
        )


def _within_triangle(moments: Array, name: str) -> Array:
    """The moments, the largest cut by rounding where it just exceeds the sum of the others."""
    a, b, c = np.argsort(moments)
    rest = moments[a] + moments[b]
    if moments[c] <= rest:
        return moments
    if moments[c] - rest > 64 * np.finfo(float).eps * moments[c]:
        raise ModelError(
            f"link {name!r} has the principal moments {moments.tolist()} kg m^2, of which one is "
            "larger than the sum of the others; no body has that, and MuJoCo refuses it. Correct "
            "the inertia."
        )
    return np.where(np.arange(3) == c, rest, moments)
