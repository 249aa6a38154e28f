"""State: what a request of the page is about, read from JSON and checked.

The server keeps no state of the page: each request has all of it, and the answer is a function of
the request alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from kinetree import dynamics
from kinetree.constraints import project
from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.model.inputs import check_quaternions
from kinetree.robot import Robot
from kinetree.views.loops import wrapped

Request = Mapping[str, object]
Entry = TypeVar("Entry")
LARGEST = 1e12  # of any number of a request; larger ones overflow in squares and products
VECTORS = ("point", "force", "moment")  # of a push
UNIT = 1e-6  # a quaternion may differ from length 1 by this much
CUTOFF = 1e-9  # singular values of J below this part of the largest one are left out
ATTEMPTS = 20  # random positions that are tried


@dataclass(frozen=True, eq=False)
class Push:
    """An external force at a point of one link, and a moment.

    point: in {i}, m. force, N, and moment, N m: in {s}, the frame of the arrow on the screen.
    """

    link: int
    point: Array
    force: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class State:
    """A robot in motion: q (nq,), dq and ddq (n,), the push on it, and what presses it in a run.

    contact_forces: in {s}, N, by contact. stop_forces: N m or N, by joint. None: not known.
    """

    robot: Robot
    q: Array
    dq: Array
    ddq: Array
    push: Push | None = None
    contact_forces: Mapping[str, Array] | None = None
    stop_forces: Mapping[str, float] | None = None

    def F_ext(self) -> Array | None:
        """The push as wrenches from the world onto the links, in {i}, (links, 6).

        A force f at p is the wrench (p x f, f); the moment is added, both turned from {s} into {i}.
        """
        push = self.push
        if push is None:
            return None
        F = np.zeros((len(self.robot.model.links), 6))
        T_si = np.asarray(dynamics.forward_kinematics(self.robot.model, self.q), float)
        R_is = T_si[push.link, :3, :3].T
        f, n = R_is @ push.force, R_is @ push.moment
        F[push.link] = np.concatenate([n + np.cross(push.point, f), f])
        return F


def allowed_motion(state: State, kept: tuple[str, int] | None = None) -> State:
    """The state at the same position, with rates and accelerations that its constraints allow.

    The entries change as little as possible, so that J dq = 0 and J ddq + gamma = 0. kept: the
    quantity, "dq" or "ddq", and the degree of freedom that the user has set.
    """
    model, q = state.robot.model, state.q
    if model.constraints is None:
        return state
    J = np.asarray(dynamics.constraint_jacobian(model, q), float)
    if not np.isfinite(J).all():
        return state
    quantity, dof = kept or ("", -1)
    dq = _corrected(J, state.dq, np.zeros(len(J)), dof if quantity == "dq" else -1)
    gamma = np.asarray(dynamics.constraint_bias(model, q, dq), float)
    ddq = _corrected(J, state.ddq, gamma, dof if quantity == "ddq" else -1)
    return replace(state, dq=dq, ddq=ddq)


def _corrected(J: Array, x: Array, bias: Array, kept: int) -> Array:
    """Rates or accelerations x with J x + bias = 0, changed as little as possible."""
    free = [d for d in range(len(x)) if d != kept]
    x = np.array(x, float)
    defect = J @ x + bias
    if np.abs(defect).max(initial=0.0) > 0:
        x[free] -= np.linalg.pinv(J[:, free], rcond=CUTOFF) @ defect
    return x


def random_position(robot: Robot) -> Array:
    """A random position within the limits, on the constraints if there are any."""
    if robot.model.constraints is None:
        return robot.random()
    for _ in range(ATTEMPTS):
        try:
            return wrapped(robot.model, np.asarray(project(robot, robot.random()), float))
        except InputError:
            continue
    raise InputError(
        f"no closed position of {robot.name!r} was found from {ATTEMPTS} random ones. Move the "
        "sliders, or press random again."
    )


# requests


def read_state(request: Request, robot: Robot) -> State:
    """The state of a request for a robot; rates and accelerations that are left out are zero."""
    model, zero = robot.model, [0.0] * robot.n
    q = numbers(request.get("q"), "q", model.coordinate_names)
    check_quaternions(model, q, "q", UNIT)
    dq = numbers(request.get("dq", zero), "dq", model.dof_names)
    ddq = numbers(request.get("ddq", zero), "ddq", model.dof_names)
    push = read_push(request.get("push"), model)
    joints = [joint.name for joint in model.joints]
    contacts = () if model.contacts is None else model.contacts.names
    forces = read_named(request, "contact_forces", contacts, partial(numbers, entries="xyz"))
    return State(
        robot, q, dq, ddq, push, forces, read_named(request, "stop_forces", joints, number)
    )


def read_named(
    request: Request, name: str, known: Sequence[str], read: Callable[[object, str], Entry]
) -> dict[str, Entry] | None:
    """An entry of a request with values by name; None if it is left out."""
    given = request.get(name)
    if given is None:
        return None
    return {key: read(x, f"{name} of {key}") for key, x in record(given, name, known).items()}


def read_push(given: object, model: Model) -> Push | None:
    """The push of a request; None without one."""
    if given is None:
        return None
    push = record(given, "push", ("link", *VECTORS))
    link = push.get("link")
    if not isinstance(link, int) or isinstance(link, bool) or link not in model.links:
        raise InputError(
            f"link of the push is {link!r}; expected a number from 0 to {len(model.links) - 1}."
        )
    vectors = (
        numbers(push.get(name, [0.0] * 3), f"{name} of the push", tuple("xyz")) for name in VECTORS
    )
    return Push(link, *vectors)


def read_kept(given: object, robot: Robot) -> tuple[str, int] | None:
    """The quantity and the degree of freedom that the user has set; None if there is none."""
    if given is None:
        return None
    quantity, dof = (*sequence(given, "kept"), None, None)[:2]
    if quantity not in ("q", "dq", "ddq"):
        raise InputError(f"kept is {given!r:.60}; expected q, dq or ddq and a number.")
    return str(quantity), index(dof, "kept", robot.n)


def record(given: object, name: str, entries: Sequence[str] | None = None) -> Request:
    """An entry of a request that has entries of its own.

    entries: the names that it may have; None: any.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {given!r:.60}; expected a record with named entries.")
    named = cast("Request", given)
    unknown = [key for key in named if entries is not None and key not in entries]
    if unknown:
        known = listing(entries or ("nothing",), 8)
        raise InputError(f"{name} has {unknown[0]!r:.60}; expected only {known}.")
    return named


def sequence(given: object, name: str) -> Sequence[object]:
    """A list in a request."""
    if not isinstance(given, list):
        raise InputError(f"{name} is {given!r:.60}; expected a list.")
    return cast("list[object]", given)


def numbers(given: object, name: str, entries: Sequence[str]) -> Array:
    """A list of finite numbers, one for each of `entries`, which the message names."""
    listed = sequence(given, name)
    if len(listed) != len(entries):
        raise ShapeError(
            f"{name} has {len(listed)} entries; expected {len(entries)}: {listing(entries, 8)}."
        )
    return np.array([number(x, f"{name} of {e}") for x, e in zip(listed, entries, strict=True)])


def number(given: object, name: str) -> float:
    """A finite number of a request."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise InputError(f"{name} is {given!r:.60}; expected a number.")
    if not abs(given) <= LARGEST:  # true for nan, and for integers that no float can represent
        raise InputError(f"{name} is {given!r:.60}; expected a finite number up to {LARGEST:g}.")
    return float(given)


def index(given: object, name: str, count: int) -> int:
    """A whole number of a request from 0 to count - 1."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < count:
        raise InputError(f"{name} is {given!r:.60}; expected a whole number from 0 to {count - 1}.")
    return given


def text(given: object, name: str) -> str:
    """A text of a request."""
    if not isinstance(given, str):
        raise InputError(f"{name} is {given!r:.60}; expected a text.")
    return given


def optional(given: Any, name: str) -> float | None:
    """A number of a request that may be left out."""
    return None if given is None else number(given, name)
