"""Motions to record: Fourier series whose regressor is well conditioned.

Random Fourier series that start and end at rest (`kinetree.motion.excitation`) span a linear space,
joint by joint. Coefficients in that space are improved by random steps that grow after a success
and shrink after a failure; positions, rates and joint forces stay within their limits throughout.
If the force limits require it, all amplitudes are reduced first. Of a mechanism, the motors move by
such series and the other joints close the loops, away from dead centres.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import typed
from kinetree.dynamics.constraints.dynamics import check_sufficient
from kinetree.errors import InputError
from kinetree.identify.base import find_base
from kinetree.identify.loops import closed_motion, motor_dofs, motors_alone, reached
from kinetree.identify.unknowns import FrictionChoice, Unknowns, unknowns
from kinetree.model.bounds import bounds_of, force_share, limit_vector, positions
from kinetree.motion.plan.inputs import joint_vector
from kinetree.motion.plan.sinusoids import excitation
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot

TRIAL_FORCE = 0.97  # share of the force limits at these samples: peaks lie between them
ROOM = 0.3  # share of the centre's distance from singular positions that is kept


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion to record, and how well it determines the parameters.

    Args:
        motion: the trajectory.
        condition: condition number of its regressor, dimensionless.
        before: condition number of the random start, dimensionless.
    """

    motion: Trajectory
    condition: float
    before: float


@typed
def excite(
    robot: Robot,
    duration: float = 20.0,
    dt: float = 0.005,
    *,
    harmonics: int = 5,
    periods: int = 1,
    use: float = 0.8,
    center: StateLike | None = None,
    acceleration: StateLike | None = None,
    rounds: int = 300,
    friction: FrictionChoice = "symmetric",
    armature: bool = True,
    seed: int = 0,
    watch: Callable[[int, float], None] | None = None,
) -> Excitation:
    """A motion within the robot's limits that separates its base parameters well.

    Args:
        robot: as described; its limits of position, speed and force bound the motion.
        duration, dt: whole time and step, s.
        harmonics, periods, use, center: as in `kinetree.motion.excitation`. Of the center of a
            mechanism, (nq,), the entries of motors count; None: its neutral position.
        acceleration: its limit, rad/s^2 or m/s^2, a number or (n,), of a mechanism one for each
            motor; None for no limit.
        rounds: steps of the search.
        friction, armature: unknowns of the drives; see `unknowns`.
        seed: of the search.
        watch: is called with the round and the best condition so far.

    Raises:
        InputError: the drives cannot hold the robot where the motion starts, or a mechanism cannot
            move there.
    """
    model, moved, start = robot.model, robot, np.zeros(0)
    if model.constraints is not None:
        check_sufficient(model, "excite")
        moved, start = Robot(motors_alone(model)), robot.neutral()
        coords = bounds_of(model).coords[motor_dofs(model)]
        if center is not None:
            center = joint_vector(center, model.nq, "center", model.coordinate_names)[coords]
            closed = reached(robot, start, center[None], ROOM)
            if closed is None:
                raise _stuck(robot)
            start = closed[0]
        center = start[coords]
    fine = [
        excitation(
            moved, duration, dt, harmonics=harmonics, periods=periods, use=use, center=center,
            seed=seed + k,
        )
        for k in range(2 * harmonics - 3)  # as many as the space has dimensions
    ]  # fmt: skip
    fastest = 2 * np.pi * harmonics * periods / fine[0].duration  # rad/s of the last harmonic
    spacing = float(np.diff(fine[0].t).max())
    if fastest * spacing > 1:
        raise InputError(
            f"dt is {dt:g} s, too long to show the fastest sine of {fastest / (2 * np.pi):.3g} Hz; "
            f"expected {1 / fastest:.3g} s at most, or fewer harmonics."
        )
    # a sum of sines up to w exceeds its largest sample by 1 / cos(w h / 2) at most
    space = _Space(fine, robot, moved, start, use, acceleration, 1 / np.cos(fastest * spacing / 2))
    params = unknowns(robot, friction, armature)
    kept = list(find_base(params).kept)
    rng = np.random.default_rng(seed)
    best = np.zeros((len(fine), moved.n))
    best[0] = 1
    space.shrink(best, TRIAL_FORCE)
    condition = before = _condition(params, kept, space, best)
    step = 0.5
    for k in range(1, rounds + 1):
        trial = best + step * rng.normal(size=best.shape)
        found = _condition(params, kept, space, trial)
        better = found < condition
        if better:
            best, condition = trial / np.abs(trial).max(), found
        step = min(2.0, step * 1.5) if better else max(0.01, step * 0.93)
        if watch is not None:
            watch(k, condition)
    if space.shrink(best, 1.0):
        condition = _condition(params, kept, space, best)
    state = space.state(best, slice(None))
    assert state is not None  # or amplitudes would have been reduced
    q, dq, ddq = state
    motion = fine[0].replace(q=q, dq=dq, ddq=ddq, model=model)
    return Excitation(motion, condition, before)


class _Space:
    """Linear combinations of motions about a common centre, scaled into the limits."""

    def __init__(
        self,
        motions: list[Trajectory],
        robot: Robot,
        moved: Robot,
        start: Array,
        use: float,
        acceleration: StateLike | None,
        between: float,
    ) -> None:
        """Args are those of `excite`, and what follows from them.

        moved: the robot, or the motors of a mechanism alone. start: a closed position of that.
        between: the most by which a peak exceeds the largest sample, as a factor.
        """
        self.robot, self.bounds, self.amplitude = robot, bounds_of(moved.model), 1.0
        self.start, self.between = start, between
        names = self.bounds.names
        most = np.inf
        if acceleration is not None:
            most = limit_vector(acceleration, names, "acceleration")
        self.center = motions[0].q[0]  # where they all start
        self.parts = [
            np.array([x.q - self.center for x in motions]),
            np.array([x.dq for x in motions]),
            np.array([x.ddq for x in motions]),
        ]
        room = np.minimum(self.bounds.upper - self.center, self.center - self.bounds.lower)
        room = np.where(np.isfinite(room), use * room, np.abs(self.parts[0]).max(axis=(0, 1)))
        self.most = room, use * self.bounds.velocity, use * most

    def state(self, c: Array, samples: slice) -> tuple[Array, Array, Array] | None:
        """q, dq and ddq of all joints; None where a mechanism cannot be, or beyond its limits."""
        model, motion = self.robot.model, self.motion(c, samples)
        if model.constraints is None:
            return motion
        q = reached(self.robot, self.start, motion[0], ROOM)
        if q is None:
            return None
        dq, ddq = np.zeros((2, len(q), model.n))
        dq[:, motor_dofs(model)], ddq[:, motor_dofs(model)] = motion[1:]
        q, dq, ddq = closed_motion(self.robot, np.zeros(len(q)), q, motion[0], dq, ddq)
        bounds = bounds_of(model)
        x = positions(bounds, q)
        inside = (x >= bounds.lower) & (x <= bounds.upper) & (np.abs(dq) <= bounds.velocity)
        return (q, dq, ddq) if inside.all() else None

    def motion(self, c: Array, samples: slice) -> tuple[Array, Array, Array]:
        """q, dq and ddq, (T, n), of coefficients c, (k, n), at some of the samples."""
        q, dq, ddq = (np.einsum("ktn,kn->tn", x, c) for x in self.parts)
        peaks = [self.between * np.abs(x).max(axis=0) for x in (q, dq, ddq)]
        peaks = [np.where(peak > 0, peak, np.inf) for peak in peaks]  # joints at rest stay at rest
        shares = [most / peak for most, peak in zip(self.most, peaks, strict=True)]
        scale = self.amplitude * np.min(shares, axis=0)
        return self.center + scale * q[samples], scale * dq[samples], scale * ddq[samples]

    def load(self, state: tuple[Array, Array, Array] | None) -> Array:
        """Largest force of each joint or motor, as a share of its limit, (n,)."""
        if state is None:
            return np.full(len(self.bounds.names), np.inf)
        motors = motor_dofs(self.robot.model)
        tau = self.robot.inverse_dynamics(*state)[:, motors]
        return force_share(tau, *self.bounds.forces(state[1][:, motors])).max(axis=0)

    def shrink(self, c: Array, share: float) -> bool:
        """Reduce amplitudes until joints stay within a share of their force limits.

        Returns True if they were reduced.
        """
        before = self.amplitude
        while np.any((load := self.load(self.state(c, slice(None)))) > share):
            self.amplitude = 0.9 * self.amplitude
            if self.amplitude < 0.02:
                if np.isinf(load).any():
                    raise _stuck(self.robot)
                k = int(load.argmax())
                limit = self.bounds.effort[k]
                raise InputError(
                    f"joint {self.bounds.names[k]!r} needs {load[k] * limit:.4g} of its "
                    f"{limit:.4g} N m (N) to hold the robot where the motion starts; give another "
                    "center, or a robot with other limits."
                )
        return self.amplitude < before


def _stuck(robot: Robot) -> InputError:
    return InputError(
        f"{robot.name!r} cannot move about the center: its loops do not close there, a joint "
        "without a motor is at its limit, or a dead centre is near. Give another center, closer to "
        "robot.neutral()."
    )


def _condition(params: Unknowns, kept: list[int], space: _Space, c: Array) -> float:
    """Condition of the base regressor with unit columns; infinite beyond the limits of force."""
    samples = slice(None, None, max(1, space.parts[0].shape[1] // 150))  # enough for a trial
    state = space.state(c, samples)
    if state is None or np.any(space.load(state) > TRIAL_FORCE):
        return np.inf
    W = params.regressor(*state)[..., kept] / params.natural.forces[:, None]
    W = W.reshape(-1, len(kept))
    lengths = np.linalg.norm(W, axis=0)
    if not lengths.all():
        return np.inf
    squares = np.linalg.eigvalsh((W / lengths).T @ (W / lengths))
    return float(np.sqrt(squares[-1] / max(float(squares[0]), 1e-300)))
