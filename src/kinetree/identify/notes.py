"""Findings on recordings: other readings of the data, poor motions, errors unlike noise.

A description is a fifth or a third wrong, seldom more. Measured joint forces that look nothing like
those of the description were mostly recorded with another sign, unit or order of joints. Friction
is the part of a description that is wrong most often, so what friction explains does not count.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.dynamics.natural_units import natural_units
from kinetree.errors import InputError, SingularityError, argument
from kinetree.files.description.friction import smooth_laws
from kinetree.files.description.joints import FREE
from kinetree.identify import constants as const
from kinetree.identify.band import in_band
from kinetree.identify.base import Base
from kinetree.identify.findings import Finding, named, names_at
from kinetree.identify.laws import PARTS, FrictionChoice
from kinetree.identify.least_squares import Fit
from kinetree.identify.loops import motor_dofs
from kinetree.identify.recording import Recording
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.robot import Robot

UNIT = "is it in N m (N)?"
DEGREES = "q in degrees"


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
    units = natural_units(model)
    if (np.ptp(data.q, axis=0) / np.where(units.positions, units.length, 1)).max(
        initial=0
    ) < const.STILL_RANGE:
        motors = [model.dof_names[k] for k in motor_dofs(model)]
        joints = "all joints" if len(motors) == model.n else f"the motors {named(motors)}"
        raise SingularityError(
            f"no joint moves by more than {const.STILL_RANGE:g} rad or "
            f"{const.STILL_RANGE * units.length:.3g} m in the recording; expected a motion "
            f"of {joints}. `kinetree.identify.excite` plans one."
        )
    if not np.any(np.ptp(data.tau, axis=0)):
        raise InputError(
            "tau never changes in the recording; expected the measured forces of all joints."
        )


def poorly_excited(whole: Base, base: Base, found: Fit) -> list[Finding]:
    """Warnings of base parameters that the recording determines poorly, or only with others."""
    texts: list[str] = []
    if count := int((found.standard_error > np.abs(found.beta)).sum()):
        texts.append(f"{count} of {base.r} base parameters are smaller than their standard error")
    if found.condition > const.POOR_CONDITION:
        texts.append(
            f"the motion excites some parameters poorly (condition {found.condition:.0f}); "
            "`kinetree.identify.excite` plans a better one"
        )
    if missing := [whole.names[k] for k in whole.kept if k not in base.kept]:
        texts.append(
            f"the recording separates {base.r} of {whole.r} base parameters; combined with others, "
            f"or without effect in it: {named(missing)}. The robot has them as described"
        )
    return [Finding("excitation", (), text) for text in texts]


def kept_laws(model: Model, choices: Mapping[str, FrictionChoice]) -> list[str]:
    """Notes on described friction laws with shapes that are used as they are, and not sought."""
    found: dict[str, list[str]] = {}
    for joint in model.joints:
        choice, friction = choices.get(joint.name, "known"), joint.friction
        kinds = [*smooth_laws(friction)]
        for kind in ["stribeck", *kinds] if friction.stribeck is not None else kinds:
            if choice not in (kind, "known"):
                found.setdefault(kind, []).append(joint.name)
    return [
        f"the {PARTS.get(kind, kind + ' friction')} of {named(names)} is kept as described"
        + (f"; to find it, choose the friction {kind!r}" if kind in PARTS else "")
        for kind, names in found.items()
    ]


def odd_errors(model: Model, found: Fit, method: str, t: Array | None = None) -> list[Finding]:
    """Warnings of outliers and offsets among the errors of the fit.

    t: times of the rows, (rows,), s; None: not known.
    """
    names, listed = model.dof_names, list[Finding]()
    forces = natural_units(model).forces
    rest = found.residual / forces
    typical = 1.4826 * np.median(np.abs(rest), axis=0)
    wild = np.abs(rest) > np.maximum(const.OUTLIER_Z * typical, const.ROUGH_FORCE)
    wild &= wild.mean(axis=0) < const.OUTLIER_SHARE
    if count := int(wild.sum()):
        joints = names_at(names, wild.any(axis=0))
        way_out = "'robust' least squares gives outliers less weight"
        if method == "robust":
            way_out = "robust least squares gives them little weight"
        measured = counted(count, "measured force")
        if t is not None:
            size = np.where(wild, np.abs(rest) / np.maximum(typical, 1e-300), 0).max(axis=1)
            way_out = f"the farthest at t = {t[int(size.argmax())]:.4g} s; {way_out}"
        listed.append(Finding(
            "outliers", joints,
            f"{measured} of {named(joints)} {'is' if count == 1 else 'are'} far off all "
            f"others: {way_out}",
        ))  # fmt: skip
    mean, spread = rest.mean(axis=0), rest.std(axis=0)
    if np.any(shifted := np.abs(mean) > np.maximum(const.SHIFTED_MEAN * spread, const.ROUGH_FORCE)):
        values = ", ".join(f"{x:.3g}" for x in (mean * forces)[shifted][:8])
        joints = names_at(names, shifted)
        listed.append(Finding(
            "offset", joints,
            f"errors of {named(joints)} have a mean of {values}: does the sensor have an "
            f"offset? {argument('offsets', True)} finds it",
        ))  # fmt: skip
    return listed


@dataclass(frozen=True, eq=False)
class Compared:
    """Rows of joint forces, each (rows, n), without what friction of each joint can explain.

    measured, expected: without viscous and Coulomb friction. rest: their difference, also without
    its mean, which an offset explains. bare: measured and expected without what the inertia of an
    armature explains as well, which may be most of a wrist's force and which files seldom have.
    """

    measured: Array
    expected: Array
    rest: Array
    bare: tuple[Array, Array]

    @property
    def unexplained(self) -> Array:
        """Share of each joint's squared force that the description does not explain, (n,)."""
        size = np.maximum((self.measured**2).sum(axis=0), 1e-300)
        return np.minimum((self.rest**2).sum(axis=0) / size, const.UNEXPLAINED_MOST)


Soft = Callable[[Recording, Array], Array]  # from samples of a recording to rows


def compare(robot: Robot, reading: "Reading", soft: Soft = lambda data, x: x) -> Compared:
    """Measured joint forces of recordings beside those of a robot as described.

    soft: filter of both sides; by default every sample is a row.
    """
    rows: list[tuple[Array, Array, Array]] = []
    for data in reading.parts:
        tau = data.tau if reading.order is None else data.tau[:, reading.order]
        expected = robot.inverse_dynamics(data.q, data.dq, data.ddq)
        columns = tau, expected, data.dq, np.sign(data.dq), data.ddq
        filtered = soft(data, np.stack(columns, axis=-1))
        rows.append((filtered[..., 0], filtered[..., 1], filtered[..., 2:]))
    measured, expected, drives = (np.concatenate(x) for x in zip(*rows, strict=True))
    rubs, offset = drives[..., :2], np.ones((*measured.shape, 1))
    both = np.concatenate([rubs, offset], axis=-1)
    return Compared(
        _without(measured, rubs), _without(expected, rubs), _without(measured - expected, both),
        (_without(measured, drives), _without(expected, drives)),
    )  # fmt: skip


def _without(x: Array, columns: Array) -> Array:
    """x, (rows, n), less its projection on each joint's columns, (rows, n, k)."""
    Q = np.linalg.svd(_unit(columns).transpose(1, 0, 2), full_matrices=False)
    basis = np.where((Q[1] > 1e-9)[:, None, :], Q[0], 0)
    return x - np.einsum("jtk,jk->tj", basis, np.einsum("jtk,tj->jk", basis, x))


def _unit(columns: Array) -> Array:
    """Columns of length 1, or 0."""
    length = np.linalg.norm(columns, axis=0)
    return columns / np.where(length > 0, length, 1)


def check_readings(robot: Robot, data: Recording, cutoff: float | None = None) -> list[Finding]:
    """Warnings of other signs, units or orders of joints that the recording may have.

    cutoff: of the low-pass of both sides, Hz, as in `bands_of`.
    """
    parts = _stretches(data)
    plain = compare(robot, Reading("", parts), partial(in_band, cutoff=cutoff))
    signs = list(_signs(robot.model, plain))
    if signs or plain.unexplained.max(initial=0) < const.UNLIKE_SHARE:
        return signs
    return _better(robot, parts, partial(in_band, cutoff=cutoff), plain.unexplained)


def _stretches(data: Recording) -> list[Recording]:
    """The recording, or stretches of a long one with `READING_SAMPLES` samples together."""
    if len(data) <= const.READING_SAMPLES:
        return [data]
    length = const.READING_SAMPLES // const.READING_STRETCHES
    starts = np.linspace(0, len(data) - length, const.READING_STRETCHES).round().astype(int)
    return [data.part(slice(a, a + length)) for a in starts.tolist()]


def _alike(measured: Array, expected: Array) -> tuple[Array, Array]:
    """Correlation of measured and expected forces, (rows, n), and ratio of their sizes, (n,)."""
    size = np.sqrt((measured**2).sum(axis=0) * (expected**2).sum(axis=0))
    alike = (measured * expected).sum(axis=0) / np.where(size > 0, size, 1)
    return alike, size / np.maximum((expected**2).sum(axis=0), 1e-300)


def _signs(model: Model, plain: Compared) -> Iterator[Finding]:
    """Warnings of joints whose force has the description's shape, but another sign or size."""
    alike, ratio = _alike(plain.measured, plain.expected)
    without_armature = _alike(*plain.bare)
    loaded = (
        np.sqrt((plain.expected**2).mean(axis=0)) > const.SLIGHT_FORCE * natural_units(model).forces
    )
    off = loaded.copy()
    for shape, times in ((alike, ratio), without_armature):
        off &= (shape > const.ALIKE_CORRELATION) & (
            (times > const.UNIT_RATIO) | (times < 1 / const.UNIT_RATIO)
        )
    if np.any(turned := loaded & (alike < -const.ALIKE_CORRELATION)):
        joints = names_at(model.dof_names, turned)
        text = f"tau of {named(joints)} opposes the description's: is its sign reversed?"
        yield Finding("reading", joints, text)
    if off.any():
        span = " to ".join(dict.fromkeys(f"{f(ratio[off]):.3g}" for f in (np.min, np.max)))
        joints = names_at(model.dof_names, off)
        text = f"tau of {named(joints)} is {span} times the description's: {UNIT}"
        yield Finding("reading", joints, text)


def _better(robot: Robot, parts: Sequence[Recording], soft: Soft, plain: Array) -> list[Finding]:
    """A warning of the reading that explains much more than the data as they are, if any.

    There are many readings: some samples, without the filter, show which are worth a closer look.
    """
    few = [
        x.part(slice(None, None, max(1, len(x) * len(parts) // const.GLANCE_SAMPLES)))
        for x in parts
    ]
    now = compare(robot, Reading("", few)).unexplained
    gains = {
        k: _gain(compare(robot, reading).unexplained, now, reading.dofs)
        for k, reading in enumerate(_readings(robot.model, few))
    }
    closer = sorted(gains, key=lambda k: gains[k], reverse=True)[: const.CLOSER_READINGS]
    best, found = const.UNLIKE_SHARE, list[Finding]()
    for k, reading in enumerate(_readings(robot.model, parts)):
        if k not in closer:
            continue
        gain = _gain(compare(robot, reading, soft).unexplained, plain, reading.dofs)
        if gain > best:
            joints = tuple(robot.model.dof_names[k] for k in reading.dofs)
            text = f"{reading.text} would explain the forces far better: is that so?"
            kind = "swapped-channels" if reading.text.endswith("swapped") else "reading"
            best, found = gain, [Finding(kind, joints, text)]
    return found


def _gain(left: Array, plain: Array, dofs: tuple[int, ...]) -> float:
    """Sum of the shares, (n,), that a reading explains in addition; 0 if joints contradict it."""
    touched = np.abs(left - plain) > 0.05
    own = list(dofs)
    better = left[touched].sum() < 0.5 * plain[touched].sum()
    agree = np.all(left[own] < np.maximum(plain[own], const.UNLIKE_SHARE))
    return float((plain - left).sum()) if better and agree else 0.0


@dataclass(frozen=True, eq=False)
class Reading:
    """Another reading: its text, the recordings with it, columns of tau, and joints concerned."""

    text: str
    parts: Sequence[Recording]
    order: Array | None = None
    dofs: tuple[int, ...] = ()


def _readings(model: Model, parts: Sequence[Recording]) -> Iterator[Reading]:
    """Other readings of a recording."""
    names = model.dof_names
    plain = model.n == model.nq and model.constraints is None  # without quaternions and loops
    if plain:
        factor = np.where(bounds_of(model).sliding, 1.0, np.pi / 180)
        small = [replace(x, q=x.q * factor, dq=x.dq * factor, ddq=x.ddq * factor) for x in parts]
        yield Reading(DEGREES, small)
    for joint in model.joints:
        if joint.type == FREE and joint.follows is None:
            order = np.arange(model.n)
            order[list(joint.dofs)] = [*joint.dofs[3:], *joint.dofs[:3]]
            yield Reading(
                f"tau of {joint.name!r} as (force, moment)", parts, order, tuple(joint.dofs)
            )
    for a in range(model.n) if plain else ():
        sign = np.where(np.arange(model.n) == a, -1.0, 1.0)
        turned = [replace(x, q=x.q * sign, dq=x.dq * sign, ddq=x.ddq * sign) for x in parts]
        yield Reading(f"q of {names[a]!r} with the opposite sign", turned, None, (a,))
        both = [replace(x, tau=x.tau * sign) for x in turned]
        yield Reading(f"q and tau of {names[a]!r} with the opposite sign", both, None, (a,))
    for a, b in combinations(motor_dofs(model), 2):
        order = np.arange(model.n)
        order[[a, b]] = b, a
        pair = f"{names[a]!r} and {names[b]!r}"
        yield Reading(f"tau of {pair} swapped", parts, order, (a, b))
        if plain:
            turned = [
                replace(x, q=x.q[:, order], dq=x.dq[:, order], ddq=x.ddq[:, order]) for x in parts
            ]
            yield Reading(f"q of {pair} swapped", turned, None, (a, b))
            yield Reading(f"q and tau of {pair} swapped", turned, order, (a, b))
