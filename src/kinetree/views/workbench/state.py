"""State: what a request of the page is about, read from JSON and checked.

The server keeps no state of the page: each request has all of it, and the answer is a function of
the request alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.model.inputs import check_quaternions
from kinetree.robot import Robot
from kinetree.views.loops import closed_rest

Request = Mapping[str, object]
LARGEST = 1e12  # of any number of a request; larger ones overflow in squares and products
VECTORS = ("point", "force", "moment")  # of a push
UNIT = 1e-6  # a quaternion may differ from length 1 by this much


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
    """A robot in motion: q (nq,), dq and ddq (n,), and the push on it."""

    robot: Robot
    q: Array
    dq: Array
    ddq: Array
    push: Push | None = None

    def replace(self, **changes: Any) -> "State":
        """The same with some fields changed."""
        return replace(self, **changes)


def at_rest(robot: Robot) -> State:
    """A robot that stands still in its position of rest, closed if it has constraints."""
    q, zero = closed_rest(robot)[0], np.zeros(robot.n)
    return State(robot, q, zero, zero.copy())


def external_wrenches(state: State, T_si: Array) -> Array:
    """F_ext, (links, 6): the push as wrenches from the world onto the links, in {i}.

    T_si: poses of the links, (links, 4, 4).

    A force f at p is the wrench (p x f, f); the moment is added, both turned from {s} into {i}.
    """
    F = np.zeros((len(state.robot.model.links), 6))
    push = state.push
    if push is not None:
        R_is = np.asarray(T_si, float)[push.link, :3, :3].T
        f, n = R_is @ push.force, R_is @ push.moment
        F[push.link] = np.concatenate([n + np.cross(push.point, f), f])
    return F


# requests


def read_state(request: Request, robot: Robot) -> State:
    """The state of a request for a robot; rates and accelerations that are left out are zero."""
    model, zero = robot.model, [0.0] * robot.n
    q = numbers(request.get("q"), "q", model.coordinate_names)
    check_quaternions(model, q, "q", UNIT)
    dq = numbers(request.get("dq", zero), "dq", model.dof_names)
    ddq = numbers(request.get("ddq", zero), "ddq", model.dof_names)
    return State(robot, q, dq, ddq, read_push(request.get("push"), model))


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


def record(given: object, name: str, entries: Sequence[str] = ()) -> Request:
    """An entry of a request that has entries of its own.

    entries: the names that it may have; empty if any are allowed.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {given!r:.60}; expected a record with named entries.")
    named = cast("Request", given)
    unknown = [key for key in named if entries and key not in entries]
    if unknown:
        raise InputError(f"{name} has {unknown[0]!r:.60}; expected only {listing(entries, 8)}.")
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


def text(given: object, name: str) -> str:
    """A text of a request."""
    if not isinstance(given, str):
        raise InputError(f"{name} is {given!r:.60}; expected a text.")
    return given
