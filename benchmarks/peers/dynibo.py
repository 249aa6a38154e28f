"""dynibo: one state at a time from Python, into an array that exists where it is in a loop."""

import functools
from dataclasses import replace
from typing import Any

import dynibo
import numpy as np

from benchmarks.peers import Absent
from benchmarks.peers.loops import loop_job, reorder, restore
from benchmarks.robots import Arrays, Case
from benchmarks.timing import Job

LABEL = "dynibo, Python loop"
GRAVITY = 9.80665  # built in


@functools.cache
def robot_of(case: Case) -> tuple[Any, np.ndarray]:
    """dynibo's robot and the columns of its joints."""
    robot = dynibo.Robot.from_urdf(case.urdf)
    n = case.model.n
    if robot.joint_count != n:
        raise Absent(f"reads {robot.joint_count} joints, expected {n}")
    return robot, np.argsort(places(robot, case))


def places(robot: Any, case: Case) -> list[int]:
    """The place of each of kinetree's joints with dynibo, which does not name its joints.

    A link moves with its own joint and those before it, so its Jacobian has one column more that
    is not zero than its parent's.
    """
    q = np.random.default_rng(3).uniform(-1, 1, case.model.n)
    moved: dict[int, set[int]] = {-1: set()}
    found = []
    for i, (link, parent) in enumerate(zip(case.model.link_names, case.model.parent, strict=True)):
        columns = robot.jacobian(q, robot.link_id(link)).reshape(-1, 6)
        moved[i] = {j for j, column in enumerate(columns) if np.any(column != 0)}
        (own,) = moved[i] - moved[parent]
        found.append(own)
    return found


def batch(case: Case, quantity: str, states: Arrays, threads: int) -> dict[str, Job]:
    """A Python loop; there is no batch and no pool."""
    if threads > 1:
        raise Absent("no batches, so no threads")
    robot, columns = robot_of(case)
    job = loop_job(function_of(robot, quantity), quantity, states, columns)
    return {LABEL: replace(job, result=lambda: same_gravity(case, quantity, states, job.result()))}


def single(case: Case, quantity: str, state: Arrays) -> dict[str, Job]:
    """The plain call."""
    robot, columns = robot_of(case)
    function = getattr(robot, quantity)
    own = reorder(state, columns)
    names = {"run": function, **dict(zip("abc", own, strict=False))}

    def result() -> np.ndarray:
        found = restore(function_of(robot, quantity)(*own), quantity, columns)
        return same_gravity(case, quantity, state, found)

    return {"dynibo": Job(f"run({', '.join('abc'[: len(own)])})", names, result)}


def function_of(robot: Any, quantity: str) -> Any:
    """The method, with the matrix, which comes flat, as rows; it is symmetric."""
    method = getattr(robot, quantity)
    if quantity != "mass_matrix":
        return method
    n = robot.joint_count
    return lambda q: method(q).reshape(n, n)


def same_gravity(case: Case, quantity: str, states: Arrays, found: np.ndarray) -> np.ndarray:
    """The result as it would be under 9.81 m/s^2, for the comparison of numbers alone."""
    if quantity == "mass_matrix":
        return found
    there = case.robot.with_gravity((0, 0, -GRAVITY))
    return found + getattr(case.robot, quantity)(*states) - getattr(there, quantity)(*states)
