"""Checks of joint vectors and wrenches that a caller gives for a model.

Every public function checks its arguments here once; the functions below it trust them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike, array, is_numeric, known
from kinetree.core.records import mapping
from kinetree.core.text import counted
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import WORLD, Joint, Model, joint_pose
from kinetree.model.joint import coordinate_names, rate_names
from kinetree.present.labels import Alignment, Axis, by_name
from kinetree.spatial import Ad, inverse

Wrenches = ArrayLike | None
TipWrench = ArrayLike | Mapping[str, ArrayLike] | None
UNIT = 1e-9  # error of the length of a quaternion


def zeros(n: int) -> Array:
    """An array of n exact zeros."""
    return np.zeros(n, int)


def coordinates(model: Model, q: StateLike, name: str = "q") -> Array:
    """`q` as joint positions, shape (nq,), finite, its quaternions of length 1."""
    q = _vector(model, q, name, coordinate_axis(model))
    if is_numeric(q):
        check_quaternions(model, q, name)
    return q


def rates(model: Model, value: StateLike, name: str) -> Array:
    """`value` as joint rates, accelerations or forces, shape (n,), finite."""
    return _vector(model, value, name, dof_axis(model))


def coordinate_axis(model: Model) -> Axis:
    """Return the names along q."""
    return _axis(model, "coordinate", model.coordinate_names, coordinate_names)


def dof_axis(model: Model) -> Axis:
    """Return the names along dq, ddq and tau."""
    return _axis(model, "joint", model.dof_names, rate_names)


def link_axis(model: Model) -> Axis:
    """Return the names of the links."""
    return Axis(model.link_names, "link", model.name)


def actuator_axis(model: Model) -> Axis:
    """Return the names along controls."""
    return Axis(model.actuator_names, "actuator", model.name)


def activation_axis(model: Model) -> Axis:
    """Return the names along activations."""
    return Axis(model.activation_names, "actuator", model.name)


def _axis(
    model: Model, kind: str, names: tuple[str, ...], parts_of: Callable[[Joint], list[str]]
) -> Axis:
    axis = model.memo.get(("axis", kind))
    if axis is None:
        whole = {x.name: tuple(parts_of(x)) for x in model.leaders if parts_of(x) != [x.name]}
        following = {x.name: x.follows for x in model.joints if x.follows is not None}
        made = Axis(names, "joint", model.name, whole, following)
        axis = model.memo.setdefault(("axis", kind), made)
    return axis


def _vector(model: Model, value: StateLike, name: str, axis: Axis) -> Array:
    names = axis.names
    x = by_name(value, axis, name)
    if x is not value:
        check_one_state(x, name)
    x = array(x, (None,), name)
    if len(x) != len(names):
        raise ShapeError(
            f"{name} has {counted(len(x), 'entry')} but {model.name!r} needs {len(names)}: "
            f"{', '.join(names)}. Fixed joints take no entry."
        )
    return x


def check_one_state(x: Any, name: str) -> None:
    """Raise ShapeError if an aligned argument has several states."""
    if np.ndim(x) != 1:
        raise ShapeError(
            f"{name} has {counted(len(x), 'state')}, shape {np.shape(x)}; expected one. The "
            "quantities of a Robot, such as robot.mass_matrix, take many states."
        )


def check_quaternions(model: Model, q: Array, name: str, slack: float = UNIT) -> None:
    """Raise InputError if a quaternion in positions (..., nq) does not have length 1."""
    for joint in model.leaders:
        check_quaternion(q[..., list(joint.coords)], joint, name, slack)


def check_quaternion(q: Array, joint: Joint, name: str, slack: float = UNIT) -> None:
    """Raise InputError unless quaternions in a joint's own coordinates, (..., k), have length 1."""
    values = known(q[..., :4]) if joint.type in (SPHERICAL, FREE) else None
    if values is None:
        return
    length = np.linalg.norm(values, axis=-1)
    bad = np.argwhere(abs(length - 1) > slack)
    if len(bad):
        at = tuple(int(k) for k in bad[0])
        raise InputError(
            f"the quaternion of joint {joint.name!r} in {name}{list(at) or ''} is "
            f"{values[at].tolist()} (w, x, y, z), of length {float(length[at]):.12g}; expected "
            "length 1. Divide it by its length."
        )


def per_link(model: Model, x: Array) -> list[Array]:
    """The entries of dq, ddq or tau that belong to the joint of each link."""
    return [x[list(joint.dofs)] for joint in model.joints]


def per_dof(model: Model, parts: Sequence[Array]) -> Array:
    """A vector over the degrees of freedom from parts of each joint; shared ones add up."""
    total: list[Any] = [0] * model.n
    for joint, part in zip(model.joints, parts, strict=True):
        for k, d in enumerate(joint.dofs):
            total[d] = total[d] + part[k]
    return np.array(total)


def columns(model: Model, i: int) -> Array:
    """Rows of the identity that pick the degrees of freedom of link i, shape (k, n)."""
    dofs = model.joints[i].dofs
    picked = np.zeros((len(dofs), model.n), int)  # the whole identity would have n^2 entries
    picked[range(len(dofs)), dofs] = 1
    return picked


def link_pose(model: Model, i: int, q: Array) -> Array:
    """T_pi, pose of link i in its parent's frame; q is the whole vector."""
    joint = model.joints[i]
    return model.M_pi[i] @ joint_pose(joint, q[list(joint.coords)])


def link_adjoints(model: Model, q: Array) -> list[Array]:
    """Ad_ip of every link: twists of the parent seen in {i}."""
    return [Ad(inverse(link_pose(model, i, q))) for i in model.links]


def six_vector(value: ArrayLike | None, name: str) -> Array:
    """`value` as a 6-vector, angular part first; None is zero."""
    return zeros(6) if value is None else array(value, (6,), name)


def link_wrenches(model: Model, F_ext: Wrenches, F_tip: TipWrench = None) -> list[Array]:
    """Wrench from the world onto every link, in {i}.

    F_ext: wrenches onto the links, (links, 6), in the link frames. F_tip: the book's wrench,
    exerted BY the tool on the world, (6,), in the tool frame; or a mapping from frame names to such
    wrenches.
    """
    if F_ext is None:
        F = [zeros(6) for _ in model.links]
    else:
        plain = Alignment([(F_ext, None, "F_ext")]).values[0]
        F = list(array(plain, (len(model.links), 6), "F_ext"))
    if F_tip is None:
        return F
    tips = F_tip if isinstance(F_tip, Mapping) else {model.frame_name(): F_tip}
    for name, wrench in tips.items():
        frame, F_b = model.frame(name), six_vector(wrench, f"F_tip at {name!r}")
        if frame.link != WORLD:  # a wrench on the base moves nothing
            F[frame.link] = F[frame.link] - Ad(inverse(frame.T_if)).T @ F_b
    return F


def frame_wrenches(model: Model, onto: Mapping[str, ArrayLike]) -> Array:
    """F_ext, (links, 6), of wrenches (6,) from the world ONTO named frames, in these frames."""
    example = f"{{{model.tool or model.tips[0]!r}: (0, 0, 0, 0, 0, -10)}}"
    given = mapping(onto, "wrenches", example)
    exerted = {name: -array(F, (6,), f"wrench onto {name!r}") for name, F in given.items()}
    return np.array(link_wrenches(model, None, exerted), float).reshape(-1, 6)


@dataclass(frozen=True)
class Motion:
    """The checked arguments of inverse dynamics; dq_i, ddq_i are those of the joint of link i."""

    q: Array
    dq: Array
    ddq: Array
    dq_i: list[Array]
    ddq_i: list[Array]
    F_ext: list[Array]
    V_base: Array
    dV_base: Array  # gravity included, as an upward acceleration


def read_motion(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
) -> Motion:
    """All arguments of inverse dynamics, with gravity turned into an acceleration of the base."""
    dq, ddq = rates(model, dq, "dq"), rates(model, ddq, "ddq")
    return Motion(
        q=coordinates(model, q),
        dq=dq,
        ddq=ddq,
        dq_i=per_link(model, dq),
        ddq_i=per_link(model, ddq),
        F_ext=link_wrenches(model, F_ext, F_tip),
        V_base=six_vector(V_base, "V_base"),
        dV_base=six_vector(dV_base, "dV_base") - model.gravity,  # explain: gravity
    )
