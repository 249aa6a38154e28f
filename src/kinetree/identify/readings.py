"""A recording against the robot as described: signs, units, joints that changed places.

A description is a fifth or a third wrong, seldom more; measured joint forces that look nothing
like its own were mostly written down otherwise than they are read.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE
from kinetree.identify.suspicions import listing
from kinetree.motion.bounds import bounds_of

SAMPLES = 200  # that are looked at
WORST = 2.0  # share of a joint's squared force left unexplained, at most: 1 is a guess of 0
ALIKE, OFF = 0.7, 10.0  # agreement of two signals of the same shape; ratio that is no mistake


def check_readings(robot: Any, data: Any) -> list[str]:
    """Notes on what the recording may mean instead."""
    data = data.part(slice(None, None, max(1, len(data) // SAMPLES)))
    expected = robot.inverse_dynamics(data.q, data.dq, data.ddq)
    return list(_senses(robot.model, data.tau, expected)) or _better(robot, data)


def _senses(model: Any, measured: Array, expected: Array) -> Iterator[str]:
    """Joints whose force has the shape of the robot's own, but another sign or size."""
    size = np.sqrt((measured**2).sum(axis=0) * (expected**2).sum(axis=0))
    alike = (measured * expected).sum(axis=0) / np.where(size > 0, size, 1)
    ratio = size / np.maximum((expected**2).sum(axis=0), 1e-300)
    names = np.array(model.dof_names, object)
    if np.any(turned := alike < -ALIKE):
        yield f"tau of {listing(names[turned])} opposes the robot's own: is its sign turned over?"
    if np.any(off := (alike > ALIKE) & ((ratio > OFF) | (ratio < 1 / OFF))):
        span = " to ".join(dict.fromkeys(f"{f(ratio[off]):.3g}" for f in (np.min, np.max)))
        yield f"tau of {listing(names[off])} is {span} times the robot's own: is it in N m (N)?"


def _better(robot: Any, data: Any) -> list[str]:
    """The other reading that explains much more, if there is one."""
    plain = _left(robot, data.q, data.dq, data.ddq, data.tau)
    if plain.max(initial=0) < 0.5:
        return []
    best: tuple[float, str] = (0.0, "")
    for text, motion in _others(robot.model, data):
        left = _left(robot, *motion)
        touched = np.abs(left - plain) > 0.05
        gain = float((plain - left).sum())
        if gain > max(0.5, best[0]) and left[touched].sum() < 0.5 * plain[touched].sum():
            best = gain, text
    return [f"{best[1]} would explain the forces far better: is that so?"] if best[1] else []


def _left(robot: Any, q: Array, dq: Array, ddq: Array, tau: Array) -> Array:
    """Share of each joint's squared force that the description leaves open, (n,)."""
    rest = tau - robot.inverse_dynamics(q, dq, ddq)
    size = np.maximum((tau**2).sum(axis=0), 1e-300)
    return np.minimum((rest**2).sum(axis=0) / size, WORST)


def _others(model: Any, data: Any) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Other readings of a recording: what they are, and the motion and forces they give."""
    motion, tau, names = (data.q, data.dq, data.ddq), data.tau, model.dof_names
    plain = model.n == model.nq  # without quaternions
    if plain:
        factor = np.where(bounds_of(model).sliding, 1.0, np.pi / 180)
        yield "q in degrees", (*(x * factor for x in motion), tau)
    for joint in model.joints:
        if joint.type == FREE and joint.follows is None:
            order = np.arange(model.n)
            order[list(joint.dofs)] = [*joint.dofs[3:], *joint.dofs[:3]]
            yield f"tau of {joint.name!r} as (force, moment)", (*motion, tau[:, order])
    for a, b in combinations(range(model.n), 2):
        order = np.arange(model.n)
        order[[a, b]] = b, a
        pair = f"{names[a]!r} and {names[b]!r}"
        yield f"tau of {pair} swapped", (*motion, tau[:, order])
        if plain:
            turned = tuple(x[:, order] for x in motion)
            yield f"q of {pair} swapped", (*turned, tau)
            yield f"q and tau of {pair} swapped", (*turned, tau[:, order])
