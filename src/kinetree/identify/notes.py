"""Notes on an identification: other readings of the data, poor motions, errors unlike noise.

A description is a fifth or a third wrong, seldom more. Measured joint forces that look nothing like
those of the description were mostly recorded with another sign, unit or order of joints.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from kinetree.algorithms.natural_units import natural_units
from kinetree.base.arrays import Array
from kinetree.base.tables import listing
from kinetree.description.joints import FREE
from kinetree.errors import InputError, SingularityError
from kinetree.identify.base import Base
from kinetree.identify.checks import MOST, STILL
from kinetree.identify.laws import PARTS, FrictionChoice
from kinetree.identify.least_squares import Fit
from kinetree.identify.recording import Recording
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.model.friction import is_zero
from kinetree.robot import Robot

SAMPLES = 200  # at which a recording is compared with the description
WORST = 2.0  # largest share of a joint's squared force counted as unexplained: 1 is a guess of 0
ALIKE, OFF = 0.7, 10.0  # correlation of two signals of the same shape; ratio that is an error
POOR = 1000  # condition of the regressor
WILD = 8.0  # standard deviations that no sample in a billion reaches by itself
SHIFTED = 0.5  # mean of the errors, in units of their standard deviation


def check_joints(model: Model, data: Recording) -> None:
    """Refuse recordings that were made for a robot with other joints, or in another order."""
    if data.model is not None and data.model.dof_names != model.dof_names:
        raise InputError(
            f"the recording has {', '.join(data.model.dof_names)}; {model.name!r} has "
            f"{', '.join(model.dof_names)}. Names and order must agree: make or read the recording "
            "with this robot."
        )


def check_motion(model: Model, data: Recording) -> None:
    """Refuse recordings in which nothing moves, or no joint force ever changes."""
    check_joints(model, data)
    if not np.any(np.ptp(data.tau, axis=0)):
        raise InputError(
            "tau never changes in the recording; expected the measured forces of all joints."
        )
    units = natural_units(model)
    if (np.ptp(data.q, axis=0) / np.where(units.positions, units.length, 1)).max(initial=0) < STILL:
        raise SingularityError(
            f"no joint moves by more than {STILL:g} rad or {STILL * units.length:.3g} m in the "
            "recording; expected a motion of all joints. `kinetree.identify.excite` plans one."
        )


def poorly_excited(whole: Base, base: Base, found: Fit) -> list[str]:
    """Notes on base parameters that the recording determines poorly, or only with others."""
    notes: list[str] = []
    if count := int((found.standard_error > np.abs(found.beta)).sum()):
        notes.append(f"{count} of {base.r} base parameters are smaller than their standard error")
    if found.condition > POOR:
        notes.append(
            f"the motion excites some parameters poorly (condition {found.condition:.0f}); "
            "`kinetree.identify.excite` plans a better one"
        )
    if missing := [whole.names[k] for k in whole.kept if k not in base.kept]:
        notes.append(
            f"the recording separates {base.r} of {whole.r} base parameters; combined with others, "
            f"or without effect in it: {listing(missing, MOST)}. The robot has them as described"
        )
    return notes


def kept_laws(model: Model, choices: Mapping[str, FrictionChoice]) -> list[str]:
    """Notes on described friction laws with shapes that are used as they are, and not sought."""
    found: dict[str, list[str]] = {}
    for joint in model.joints:
        choice, friction = choices.get(joint.name, "known"), joint.friction
        parts = {"stribeck": friction.stribeck is not None, "sigmoid": friction.sigmoid is not None,
                 "load": not is_zero(friction.load)}  # fmt: skip
        for kind, present in parts.items():
            if present and choice not in (kind, "known"):
                found.setdefault(kind, []).append(joint.name)
    return [
        f"the {PARTS[kind]} of {listing(names, MOST)} is kept as described; to find it, choose the "
        f"friction {kind!r}"
        for kind, names in found.items()
    ]


def odd_errors(model: Model, found: Fit, method: str) -> list[str]:
    """Notes on errors of the fit that do not look like noise."""
    names, notes = np.array(model.dof_names, object), list[str]()
    forces = natural_units(model).forces
    rest = found.residual / forces
    typical = 1.4826 * np.median(np.abs(rest), axis=0)
    wild = np.abs(rest) > np.maximum(WILD * typical, 1e-9 * np.abs(rest).max(initial=0))
    if method != "robust" and (count := int(wild.sum())):
        notes.append(
            f"{count} measured forces of {listing(names[wild.any(axis=0)], MOST)} are far off all "
            "others: 'robust' least squares gives outliers less weight"
        )
    mean, spread = rest.mean(axis=0), rest.std(axis=0)
    if np.any(shifted := np.abs(mean) > SHIFTED * np.maximum(spread, 1e-300)):
        values = ", ".join(f"{x:.3g}" for x in (mean * forces)[shifted][:8])
        notes.append(
            f"errors of {listing(names[shifted], MOST)} have a mean of {values}: does the sensor "
            "have an offset? 'directional' friction absorbs it"
        )
    return notes


def check_readings(robot: Robot, data: Recording) -> list[str]:
    """Notes on other signs, units or orders of joints that the recording may have."""
    data = data.part(slice(None, None, max(1, len(data) // SAMPLES)))
    expected = robot.inverse_dynamics(data.q, data.dq, data.ddq)
    return list(_signs(robot.model, data.tau, expected)) or _better(robot, data)


def _signs(model: Model, measured: Array, expected: Array) -> Iterator[str]:
    """Notes on joints whose force has the shape of the description's but another sign or size."""
    size = np.sqrt((measured**2).sum(axis=0) * (expected**2).sum(axis=0))
    alike = (measured * expected).sum(axis=0) / np.where(size > 0, size, 1)
    ratio = size / np.maximum((expected**2).sum(axis=0), 1e-300)
    names = np.array(model.dof_names, object)
    if np.any(turned := alike < -ALIKE):
        joints = listing(names[turned], MOST)
        yield f"tau of {joints} opposes the description's: is its sign reversed?"
    if np.any(off := (alike > ALIKE) & ((ratio > OFF) | (ratio < 1 / OFF))):
        span = " to ".join(dict.fromkeys(f"{f(ratio[off]):.3g}" for f in (np.min, np.max)))
        joints = listing(names[off], MOST)
        yield f"tau of {joints} is {span} times the description's: is it in N m (N)?"


def _better(robot: Robot, data: Recording) -> list[str]:
    """A note on the reading that explains much more than the data as they are, if there is one."""
    plain = _unexplained(robot, data.q, data.dq, data.ddq, data.tau)
    if plain.max(initial=0) < 0.5:
        return []
    best: tuple[float, str] = (0.0, "")
    for text, (q, dq, ddq, tau) in _readings(robot.model, data):
        left = _unexplained(robot, q, dq, ddq, tau)
        touched = np.abs(left - plain) > 0.05
        gain = float((plain - left).sum())
        if gain > max(0.5, best[0]) and left[touched].sum() < 0.5 * plain[touched].sum():
            best = gain, text
    return [f"{best[1]} would explain the forces far better: is that so?"] if best[1] else []


def _unexplained(robot: Robot, q: Array, dq: Array, ddq: Array, tau: Array) -> Array:
    """Share of each joint's squared force that the description does not explain, (n,)."""
    rest = tau - robot.inverse_dynamics(q, dq, ddq)
    size = np.maximum((tau**2).sum(axis=0), 1e-300)
    return np.minimum((rest**2).sum(axis=0) / size, WORST)


def _readings(
    model: Model, data: Recording
) -> Iterator[tuple[str, tuple[Array, Array, Array, Array]]]:
    """Other readings of a recording: a description, and the q, dq, ddq and tau that it gives."""
    q, dq, ddq, tau, names = data.q, data.dq, data.ddq, data.tau, model.dof_names
    plain = model.n == model.nq  # without quaternions
    if plain:
        factor = np.where(bounds_of(model).sliding, 1.0, np.pi / 180)
        yield "q in degrees", (q * factor, dq * factor, ddq * factor, tau)
    for joint in model.joints:
        if joint.type == FREE and joint.follows is None:
            order = np.arange(model.n)
            order[list(joint.dofs)] = [*joint.dofs[3:], *joint.dofs[:3]]
            yield f"tau of {joint.name!r} as (force, moment)", (q, dq, ddq, tau[:, order])
    for a, b in combinations(range(model.n), 2):
        order = np.arange(model.n)
        order[[a, b]] = b, a
        pair = f"{names[a]!r} and {names[b]!r}"
        yield f"tau of {pair} swapped", (q, dq, ddq, tau[:, order])
        if plain:
            turned = q[:, order], dq[:, order], ddq[:, order]
            yield f"q of {pair} swapped", (*turned, tau)
            yield f"q and tau of {pair} swapped", (*turned, tau[:, order])
