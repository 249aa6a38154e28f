"""Contacts in the output of a momentum observer: thresholds, and where contacts begin and end.

Noise. Coloured Gaussian noise r of the spread sigma passes the level z sigma, up or down, at the
rate 2 nu exp(-z^2 / 2) with nu = std(dr/dt) / (2 pi sigma) (Rice). That is z for a given number of
false alarms. What the robot does not explain is not Gaussian (friction that is off by a constant
has two peaks), so the level is read from the line through the quartiles of |r| over those of a
Gaussian, which is z sigma for Gaussian noise. Quartiles do not see contacts during less than a
quarter of the time. The threshold is the level times a margin.

Floor. A file without noise would have a threshold of rounding. No threshold is below EFFORT of the
largest force of its joint, since no model is better than that.

Rest. While a joint rests or turns around, its friction may be anything up to that of slow motion,
in either direction, whatever the sign of a noisy or late rate. The friction of the law is left out
of r there, and its largest size, behind the low-pass of the observer, is taken off |r|.

Times. The low-pass delays r. A contact is where r passes its threshold; it begins where r left a
share of that (`release`), and ends where the same low-pass, run from the end of the recording to
its beginning, does: both edges are off by the rise to that share only, not by the decay.
"""

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Protocol, runtime_checkable

import numpy as np

from kinetree.core.arrays import Array, StateLike, scalar
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.natural_units import natural_units
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.model.inputs import dof_axis
from kinetree.present.labels import vector_by_name

MARGIN = 1.5  # thresholds are larger by this factor than the level of rare false alarms
ABOVE = 1.25  # and by this factor than the largest output of a motion without contacts
SHORTEST = 10  # time constants of the observer that a motion for thresholds lasts at least
LEAST = 32  # samples of a motion for thresholds
HOUR = 3600.0  # s
FLOOR = 1e-6  # least threshold, in natural units of the robot: above rounding
EFFORT = 0.01  # least threshold, as a share of the largest force of the joint in the recording
REST = 0.02  # rate below which a joint counts as resting, in natural units of the robot
SLOW = 1e-6  # rate at which friction of the slowest motion is evaluated, in units of REST
QUARTILES = (0.25, 0.5, 0.75)
NORMAL = (0.31863936396437514, 0.6744897501960817, 1.1503493803760079)  # those of |x|, x Gaussian


class Motion(Protocol):
    """A recorded motion: a `Recording`, a `Trajectory`, or anything with the same arrays."""

    @property
    def t(self) -> Array:
        """Times, (T,), s."""
        ...

    @property
    def q(self) -> Array:
        """Joint positions, (T, nq), rad or m."""
        ...

    @property
    def dq(self) -> Array:
        """Joint rates, (T, n), rad/s or m/s."""
        ...

    @property
    def tau(self) -> Array | None:
        """Measured forces of the drives, (T, n), N m or N."""
        ...


@runtime_checkable
class Identified(Protocol):
    """The result of an identification, which has held out a part of its recording."""

    @property
    def test(self) -> Motion:
        """The part that was held out."""
        ...


@dataclass(frozen=True)
class ContactRules:
    """When a contact begins and ends.

    Args:
        release: share of the threshold at which a contact begins and ends, once the threshold is
            passed, dimensionless, 0 to 1.
        pause: contacts less than this apart are one, s.
        duration: shorter contacts are not reported, s; a single odd sample never is.
    """

    release: float = 0.5
    pause: float = 0.1
    duration: float = 0.005

    def __post_init__(self) -> None:
        for name in ("release", "pause", "duration"):
            object.__setattr__(self, name, float(scalar(getattr(self, name), name)))
        if not 0 < self.release <= 1:
            raise InputError(f"release is {self.release}; expected a share above 0, at most 1.")
        for name in ("pause", "duration"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}; expected 0 or more, s.")


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact in a recording.

    Args:
        start: time at which it begins, s.
        end: time at which it ends, s.
        joint: joint with the largest external force, compared with its threshold.
        peak: external force of that joint where it is largest, N m or N; its sign is the direction.
        at: time of that peak, s, which the low-pass may put behind the end of a short contact.
        joints: all joints that pass their thresholds, from the base outward.
        link: link of the last of them: the contact is there or beyond.
    """

    start: float
    end: float
    joint: str
    peak: float
    at: float
    joints: tuple[str, ...]
    link: str

    @property
    def duration(self) -> float:
        """Length of the contact, s."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class Output:
    """External forces of a recording, from the observer, with what the search for contacts needs.

    Args:
        t: times, shape (T,), s.
        r: external forces without friction of joints that rest, shape (T, n), N m or N.
        late: the same by the low-pass from the end to the beginning, shape (T, n), N m or N.
        resting: sizes that static friction may have in r, shape (T, n), N m or N.
        late_resting: sizes that it may have in `late`, shape (T, n), N m or N.
        moves: whether each joint moves, shape (T, n).
    """

    t: Array
    r: Array
    late: Array
    resting: Array
    late_resting: Array
    moves: Array

    @property
    def certain(self) -> Array:
        """External forces without the part that may be static friction, (T, n), N m or N."""
        return _shrunk(self.r, self.resting)


def make_output(model: Model, t: Array, dq: Array, e: Array, kept: Array) -> Output:
    """Both low-passes of a recording.

    Args:
        model: the robot.
        t: times, shape (T,), s.
        dq: joint rates, shape (T, n), rad/s or m/s.
        e: mean external forces over every step, shape (T - 1, n), N m or N.
        kept: share of the output that is left after every step, shape (T - 1, n), dimensionless; 0
            over gaps.
    """
    sizes, rates = static_friction(model)
    rests = np.abs(dq) < rates
    law = np.where(rests, kernel(model, "friction_forces")(dq), 0.0)
    joined = kept > 0  # over gaps e is 0, and the low-pass starts anew
    e, unsure = e - joined * _means(law), _means(np.where(rests, sizes, 0.0))
    r, resting = (low_pass(x, kept) for x in (e, unsure))
    late, late_resting = (low_pass(x[::-1], kept[::-1])[::-1] for x in (e, unsure))
    return Output(t, r, late, resting, late_resting, ~rests)


def low_pass(x: Array, kept: Array) -> Array:
    """First-order low-pass y+ = kept y + (1 - kept) x of steps, from zero: (..., T, n).

    The result at a step does not depend on later ones, to the last bit.

    Args:
        x: input of every step, shape (..., T - 1, n).
        kept: share of the output that is left after every step, shape (T - 1, n), dimensionless.
    """
    y, taken = np.zeros((*x.shape[:-2], x.shape[-2] + 1, x.shape[-1])), (1 - kept) * x
    for k, share in enumerate(kept):
        y[..., k + 1, :] = share * y[..., k, :] + taken[..., k, :]
    return y


def _means(x: Array) -> Array:
    """Means over the steps between samples."""
    return (x[1:] + x[:-1]) / 2


def static_friction(model: Model) -> tuple[Array, Array]:
    """Largest friction of slow motion of each joint, N m or N, and the rate of rest, both (n,)."""
    rates = REST * natural_units(model).rates
    sides = [friction_forces(model, x * rates) for x in (SLOW, 1, -SLOW, -1)]
    return np.abs(np.array(sides, float)).max(axis=0), rates


def _shrunk(r: Array, unsure: Array) -> Array:
    """r, closer to zero by what is unsure."""
    return np.sign(r) * np.maximum(np.abs(r) - unsure, 0.0)


def noise_thresholds(
    model: Model, output: Output, tau: Array, gain: Array, false_alarms: float, *, contacts: bool
) -> Array:
    """Thresholds of the joints, (n,), N m or N.

    Args:
        model: the robot.
        output: of the observer.
        tau: measured forces of the drives, shape (T, n), N m or N.
        gain: of the observer, shape (n,), 1/s.
        false_alarms: of all joints together, 1/h, dimensionless otherwise.
        contacts: whether the recording may have contacts, so that its extremes do not count.
    """
    if not 0 < false_alarms < float("inf"):
        raise InputError(
            f"false alarms in an hour are {false_alarms}; expected a number above 0, such as 1."
        )
    dt, r = np.diff(output.t), output.certain
    lasts, needed = float(dt.sum()), SHORTEST / float(gain.min())
    if len(r) < LEAST or lasts < needed:
        raise InputError(
            f"the motion that sets the thresholds has {len(r)} samples over {lasts:.3g} s; "
            f"expected {LEAST} samples and {needed:.3g} s at least, {SHORTEST} time constants of "
            "the observer. Use a longer motion or a larger gain."
        )
    alarms = false_alarms / model.n / HOUR  # of one joint, 1/s
    levels: list[float] = []
    for d in range(model.n):
        some = output.moves[:, d]
        if some.sum() < LEAST or some.mean() * lasts < needed:
            some = np.ones(len(r), bool)  # the joint rests: its output at rest counts
        levels.append(_level(r[some, d], np.diff(r[:, d])[some[1:]] / dt[some[1:]], alarms))
    peaks = np.abs(r).max(axis=0) * (0.0 if contacts else ABOVE)
    floor = np.maximum(EFFORT * np.abs(tau).max(axis=0), FLOOR * natural_units(model).forces)
    return np.maximum.reduce([MARGIN * np.array(levels), peaks, floor])


def _level(r: Array, rates: Array, alarms: float) -> float:
    """Level that noise r with these rates passes `alarms` times in a second, up or down."""
    low, middle, high = np.quantile(np.abs(r), QUARTILES).tolist()
    slope = (high - low) / (NORMAL[2] - NORMAL[0])
    if slope <= 0:
        return high
    change = float(np.quantile(np.abs(rates), QUARTILES[1])) / NORMAL[1]
    z = sqrt(2 * log(max(change / (pi * slope * alarms), 1.0)))
    return middle + slope * max(z - NORMAL[1], 0.0)


def find_contacts(
    model: Model, output: Output, thresholds: StateLike, rules: ContactRules
) -> list[Contact]:
    """Contacts in the order of their beginnings.

    Args:
        model: the robot.
        output: of the observer.
        thresholds: of the joints, shape () or (n,), N m or N.
        rules: when a contact begins and ends.
    """
    limits = by_joint(model, thresholds, "thresholds", "N m or N")
    if not (limits > 0).all():
        raise InputError(f"thresholds are {limits.tolist()}; expected numbers above 0, N m or N.")
    t, step = output.t, float(np.median(np.diff(output.t)))
    size = np.abs(output.certain) / limits
    late = np.abs(_shrunk(output.late, output.late_resting)) / limits
    contacts: list[Contact] = []
    for first, last in _stretches(t, size.max(axis=1), rules):
        later = late[first : last + 1].max(axis=1)
        passed = np.flatnonzero(later > 1)
        end = _reach(later > rules.release, int(passed[-1]) if passed.size else 0)
        # r grows only while something pushes: the contact lasts until r passes the threshold
        end = first + max(end, int(np.argmax(size[first : last + 1].max(axis=1) > 1)))
        if t[end] - t[first] < max(rules.duration, 1.5 * step):
            continue
        inside = size[first : last + 1]
        at, d = np.unravel_index(int(np.argmax(inside)), inside.shape)
        over = np.flatnonzero(inside.max(axis=0) > 1).tolist()
        peak = float(output.r[first + at, d])
        names, links = _joints_of(model, over)
        contacts.append(
            Contact(
                float(t[first]),
                float(t[end]),
                model.dof_names[int(d)],
                peak,
                float(t[first + at]),
                names,
                links,
            )
        )
    return contacts


def _stretches(t: Array, size: Array, rules: ContactRules) -> list[tuple[int, int]]:
    """First and last samples of stretches that pass 1 and are above `release` but for pauses."""
    near = np.flatnonzero(size > rules.release)
    stretches: list[tuple[int, int]] = []
    if not near.size:
        return stretches
    cuts = np.flatnonzero(np.diff(t[near]) > np.maximum(rules.pause, 1.5 * np.median(np.diff(t))))
    for part in np.split(near, cuts + 1):
        if (size[part] > 1).any():
            first = int(part[np.argmax(size[part] > 1)])
            back = _reach(size[part[0] : first + 1][::-1] > rules.release, 0)
            stretches.append((first - back, int(part[-1])))
    return stretches


def _reach(above: Array, start: int) -> int:
    """The last index from `start` on, up to which all entries are true."""
    ends = np.flatnonzero(~above[start:])
    return start + max(int(ends[0]) - 1, 0) if ends.size else len(above) - 1


def _joints_of(model: Model, dofs: list[int]) -> tuple[tuple[str, ...], str]:
    """Names of degrees of freedom, and the link of the joint furthest from the base among them."""
    owners = [i for i, joint in enumerate(model.joints) if joint.follows is None]
    joints = [i for i in owners if set(model.joints[i].dofs) & set(dofs)]
    last = max(joints, key=lambda i: (len(model.path(i)), i))
    return tuple(model.dof_names[d] for d in dofs), model.link_names[last]


def by_joint(model: Model, value: StateLike, name: str, unit: str) -> Array:
    """One finite number for each degree of freedom, (n,), from a number, an array or names."""
    plain = vector_by_name(value, dof_axis(model), name)
    try:
        numbers = np.array(plain, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; expected a number, {unit}.") from None
    if numbers.shape not in ((), (model.n,)):
        raise ShapeError(
            f"{name} has shape {numbers.shape}; expected a number, or one for each of "
            f"{', '.join(model.dof_names)}: ({model.n},)."
        )
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} is {numbers.tolist()}; expected finite numbers, {unit}.")
    return np.broadcast_to(numbers, model.n)
