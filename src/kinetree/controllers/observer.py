"""MomentumObserver: joint forces of contacts, from motion and drive forces, without accelerations.

With the momentum p = M dq and dp/dt = f + tau_ext (`dynamics/momentum_balance.py`), De Luca and
Mattone's residual

    r(t) = K (p(t) - p(0) - integral of (f + r) dt)    obeys    dr/dt = K (tau_ext - r)

so that r is tau_ext behind a first-order low-pass with the time constant 1 / K. Over a step dt,

    e = (p+ - p) / dt - (f+ + f) / 2           is the mean of tau_ext over the step, and
    r+ = a r + (1 - a) e,    a = exp(-K dt)    is the exact low-pass of a constant input e

Nothing is differentiated twice, the update is stable for any K dt, and its error is that of the
trapezoidal rule for f.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.controllers.contacts import (
    Contact,
    ContactRules,
    Identified,
    Motion,
    Output,
    by_joint,
    find_contacts,
    low_pass,
    make_output,
    noise_thresholds,
)
from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.containers import read_times
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, ShapeError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.present.labels import Alignment, Axis

GAP = 5  # a step longer than so many median steps, and than 1 / K, is a gap


@dataclass(frozen=True, eq=False)
class Observed:
    """State of the observer at one sample, the input of the next step.

    Args:
        external: joint forces of contacts, shape (..., n), N m or N: J^T F_ext after the low-pass.
        p: momentum of the joints, shape (..., n), kg m^2/s or kg m/s.
        f: its rate without contacts, shape (..., n), N m or N.
    """

    external: Array
    p: Array
    f: Array


@dataclass(frozen=True, eq=False)
class MomentumObserver:
    """Estimate the joint forces of contacts from motion and drive forces.

    It has no state of its own: `start` returns one and `step` the next, for one robot or a batch.
    `run` goes through a whole recording. Friction, springs, rotors and armature are those of the
    robot, so an identified robot sees the weakest contacts. A robot with a free base gets the
    wrench on its base, too, in the base's axes.

    Args:
        robot: the robot or its model, without constraints.
        gain: K, a number or shape (n,), 1/s: a contact is seen after about 1 / K, and noise above
            K / (2 pi) Hz is attenuated.
        offset: measured less true forces of the drives, a number or shape (n,), N m or N: constant
            errors of their sensors, which are subtracted from tau.
    """

    robot: Model | HasModel
    gain: StateLike = 30.0
    offset: StateLike = 0.0

    def __post_init__(self) -> None:
        model = without_constraints(model_of(self.robot), "MomentumObserver")
        gain = by_joint(model, self.gain, "gain", "1/s")
        if not (gain > 0).all():
            raise InputError(f"gain is {gain.tolist()}; expected numbers above 0, 1/s.")
        object.__setattr__(self, "gain", gain)
        object.__setattr__(self, "offset", by_joint(model, self.offset, "offset", "N m or N"))

    @property
    def model(self) -> Model:
        """The model of the robot."""
        return model_of(self.robot)

    def start(self, q: StateLike, dq: StateLike, tau: StateLike) -> Observed:
        """Return the state at the first sample, without a contact.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: measured forces of the drives, shape (..., n), N m or N.
        """
        alignment = Alignment(self._named(q, dq, tau))
        p, f = self._balance(*alignment.values)
        external = alignment.label(np.zeros(p.shape), [dof_axis(self.model)], "external")
        return Observed(external, p, f)

    def step(
        self, state: Observed, q: StateLike, dq: StateLike, tau: StateLike, dt: ArrayLike
    ) -> Observed:
        """Return the state at the next sample.

        Args:
            state: at the sample before, from `start` or `step`.
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: measured forces of the drives, shape (..., n), N m or N.
            dt: time since the sample before, a number or shape (...), s.
        """
        axis = dof_axis(self.model)
        alignment = Alignment([*self._named(q, dq, tau), (state.external, axis, "external")])
        *now, external = alignment.values
        step = np.asarray(dt, float)[..., None]
        if not (np.isfinite(step) & (step > 0)).all():
            raise InputError(f"dt is {dt!r}; expected the time since the last sample, s, above 0.")
        p, f = self._balance(*now)
        kept = self._kept(step)
        e = _mean_forces((state.p, state.f), (p, f), step)
        external = kept * np.asarray(external, float) + (1 - kept) * e
        return Observed(alignment.label(external, [axis], "external"), p, f)

    def run(self, t: ArrayLike, q: StateLike, dq: StateLike, tau: StateLike) -> Array:
        """Return the joint forces of contacts at all samples of a recording, (..., T, n), N m or N.

        The first sample has zeros, and so has the first one after a gap, where the observer starts
        anew: after a step of more than five median steps and more than 1 / K.

        Args:
            t: times, shape (T,), s, increasing.
            q: joint positions, shape (..., T, nq), rad or m; leading axes are a batch.
            dq: joint rates, shape (..., T, n), rad/s or m/s.
            tau: measured forces of the drives, shape (..., T, n), N m or N.
        """
        times = _times(t)
        alignment = Alignment(self._named(q, dq, tau))
        e, kept = self._steps(times, *alignment.values)
        return alignment.label(low_pass(e, kept), [dof_axis(self.model)], "external")

    def thresholds(
        self, data: Motion | Identified, *, false_alarms: float = 1.0, contacts: bool = False
    ) -> Array:
        """Return thresholds of the joints, (n,), N m or N, that noise and model errors rarely pass.

        The observer runs over a motion; of an identification that is the part of the recording
        that it has held out. The threshold is 1.5 times the level that coloured noise of the same
        quartiles passes as often as given (Rice's formula), or 1.25 times the largest output if
        that is more, and no less than 1 % of the largest force of the joint.

        Args:
            data: a motion without contacts, single, with t, q, dq and tau: a `Recording` or a
                `Trajectory`; or the result of `identify`.
            false_alarms: accepted false alarms of all joints together in an hour, dimensionless.
            contacts: whether the motion may have contacts, so that its largest output does not
                count. Contacts during more than a quarter of the time raise the thresholds.
        """
        motion = data.test if isinstance(data, Identified) else data
        output, tau = self.output(motion), np.asarray(motion.tau, float)
        gain = np.asarray(self.gain)
        return noise_thresholds(self.model, output, tau, gain, false_alarms, contacts=contacts)

    def contacts(
        self, data: Motion, thresholds: StateLike, rules: ContactRules | None = None
    ) -> list[Contact]:
        """Return the contacts in a recording, in the order of their beginnings.

        Args:
            data: a motion, single, with t, q, dq and tau: a `Recording` or a `Trajectory`.
            thresholds: of the joints, a number or shape (n,), N m or N.
            rules: when a contact begins and ends; None: `ContactRules()`.
        """
        return find_contacts(self.model, self.output(data), thresholds, rules or ContactRules())

    def output(self, data: Motion) -> Output:
        """Return the external forces of a recording with what the search for contacts needs.

        Args:
            data: a motion, single, with t, q, dq and tau: a `Recording` or a `Trajectory`.
        """
        if data.tau is None:
            raise InputError(
                "the motion has no joint forces; expected measured forces of the drives, tau."
            )
        times, dq = _times(data.t), np.asarray(data.dq, float)
        if dq.ndim != 2:
            raise ShapeError(f"dq has shape {dq.shape}; expected a single motion, (T, n).")
        e, kept = self._steps(times, data.q, dq, data.tau)
        return make_output(self.model, times, dq, e, kept)

    def _named(
        self, q: StateLike, dq: StateLike, tau: StateLike
    ) -> list[tuple[object, Axis | None, str]]:
        coordinates, rates = coordinate_axis(self.model), dof_axis(self.model)
        return [(q, coordinates, "q"), (dq, rates, "dq"), (tau, rates, "tau")]

    def _balance(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        true = np.asarray(tau, float) - np.asarray(self.offset)
        return kernel(self.model, "momentum_balance")(q, dq, true)

    def _kept(self, dt: Array) -> Array:
        """Share of the output that is left after a step dt, (..., 1): (..., n)."""
        return np.exp(-np.asarray(self.gain) * dt)

    def _steps(self, t: Array, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        """Mean external forces over the steps, (..., T - 1, n), and the shares that are kept.

        Both are zero over gaps.
        """
        now = [np.asarray(x, float) for x in (q, dq, tau)]
        for x, name in zip(now, ("q", "dq", "tau"), strict=True):
            _check_rows(x, t, name)
        p, f = self._balance(*now)
        dt = np.diff(t)[:, None]
        here, there = (..., slice(None, -1), slice(None)), (..., slice(1, None), slice(None))
        e = _mean_forces((p[here], f[here]), (p[there], f[there]), dt)
        joined = dt <= max(GAP * float(np.median(dt)), 1 / float(np.max(np.asarray(self.gain))))
        return np.where(joined, e, 0.0), np.where(joined, self._kept(dt), 0.0)


def _mean_forces(before: tuple[Array, Array], now: tuple[Array, Array], dt: Array) -> Array:
    """Mean external forces over a step, from p and f at both ends."""
    return (now[0] - before[0]) / dt - (now[1] + before[1]) / 2


def _times(t: ArrayLike) -> Array:
    times = np.asarray(read_times(t), float)
    if times.ndim != 1 or len(times) < 2:
        raise ShapeError(f"t has shape {times.shape}; expected (T,), two times at least.")
    steps = np.diff(times)
    if not (np.isfinite(times).all() and (steps > 0).all()):
        row = int(np.argmax(~(np.isfinite(steps) & (steps > 0))))
        raise InputError(
            f"t is {times[row]:g} and then {times[row + 1]:g} (row {row + 1}); expected finite "
            "times that increase."
        )
    return times


def _check_rows(x: Array, t: Array, name: str) -> None:
    if x.ndim < 2 or x.shape[-2] != len(t):
        raise ShapeError(
            f"{name} has shape {x.shape}; expected (..., {len(t)}, joints), a row for each time of "
            "t."
        )
    if not np.isfinite(x).all():
        row = int(np.argwhere(~np.isfinite(x))[0][-2])
        raise InputError(
            f"{name} is not finite at t = {t[row]:g} s (row {row}); expected numbers. Leave such "
            "rows out."
        )
