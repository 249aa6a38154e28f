"""Inverse kinematics: joint positions that bring frames to poses, within the limits, for batches.

Each pose is solved by itself, by the kernel of `descent.py`: from q0, then from further starts that
fill the limits evenly (the additive sequence of Roberts), until it is reached. Those that are not
reached keep the nearest position. No result depends on the other poses of the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import count, numbers
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.joints import FREE, REVOLUTE, SPHERICAL
from kinetree.model import HasModel, Joint, Model, model_of
from kinetree.model.bounds import Bounds, bounds_of
from kinetree.model.inputs import coordinate_axis, coordinates
from kinetree.motion.inputs import positive
from kinetree.motion.kinematics.descent import descent_kernel
from kinetree.motion.kinematics.gradient import package_of, with_gradient
from kinetree.motion.kinematics.result import IKResult
from kinetree.motion.kinematics.targets import Target, read_targets
from kinetree.present.labels import Alignment, Axis, vector_by_name

START_DAMPING = 0.5  # mu of the first round
SEARCH_ROUNDS, POLISH_ROUNDS, POSTURE_ROUNDS = 100, 300, 100
SEARCH_PROGRESS = 0.97  # a start is given up after rounds that leave more of e^2 than this
POLISH_PROGRESS = 1 - 1e-6
POSTURE_GAIN = 0.5  # share of the way to the posture in one round
SLICE = 12  # rounds after which poses that are done leave the batch
AT_ONCE = 32  # starts of a small batch that are tried together
OUTSIDE = 1e-9  # rad or m by which q0 may be outside the limits, and is put at them
QUATERNION = 1e-6  # of the length of a quaternion in q0
DIFFERENT = 1e-3  # rad or m by which two solutions differ in some joint
TURN = 2 * np.pi
FAR = 1e300  # e^2 before the first round


def inverse_kinematics(
    robot: Model | HasModel,
    T: Target,
    q0: StateLike | None = None,
    *,
    frame: str | None = None,
    posture: StateLike | None = None,
    weights: ArrayLike | None = None,
    lower: StateLike | None = None,
    upper: StateLike | None = None,
    tolerance: float = 1e-9,
    restarts: int = 100,
    solutions: int | None = None,
    seed: int = 0,
) -> IKResult:
    """q within the limits, with T_sb(q) = T, for poses of any leading shape.

    Damped Gauss-Newton steps (Levenberg-Marquardt) in a compiled kernel, from q0 and from further
    starts within the limits. Poses that are out of reach get the nearest position that was found,
    and `reached` is False. Closed loops are kept closed. A result does not depend on the batch.

    Args:
        robot: the robot.
        T: poses in {s}, shape (..., 4, 4), positions in m; or positions alone, (..., 3), which
            leave the orientation free; or {frame: either of them} for several frames at once,
            where "center of mass" is one, too.
        q0: position to start from, shape (..., nq), rad or m; the result is usually the nearest
            solution. None: the position at rest.
        frame: frame to move; None is the tool.
        posture: position to be near to where the targets leave a choice, shape (nq,), rad or m.
        weights: of angles and of distances in the error that is least where a target is out of
            reach, shape (2,), or (targets, 2), 1/rad and 1/m; None: all 1.
        lower: lower limits instead of those of the joints, shape (n,), rad or m.
        upper: upper limits, shape (n,), rad or m.
        tolerance: largest error of a pose that is reached, rad and m.
        restarts: largest number of further starts.
        solutions: number of different positions to look for with all starts: q then has the shape
            (..., solutions, nq), and those that are not found are not `reached`; None: one.
        seed: of the further starts.

    Raises:
        InputError: T is not a pose, a frame is unknown, q0 or the limits exclude everything.

    Example:
        >>> robot = kt.robots.panda()
        >>> T = robot.pose([0.1, -0.5, 0.2, -2, 0.3, 1.5, 0.4])
        >>> found = robot.inverse_kinematics(T)
        >>> bool(found.reached), bool(abs(robot.pose(found.q) - T).max() < 1e-9)
        (True, True)
    """
    model = model_of(robot)
    if package := package_of(T):
        solve = partial(
            inverse_kinematics, model, q0=q0, frame=frame, posture=posture, weights=weights,
            lower=lower, upper=upper, tolerance=tolerance, restarts=restarts, seed=seed,
        )  # fmt: skip
        return with_gradient(model, T, frame, _limits(model, lower, upper), solve, package)
    alignment = Alignment([(q0, coordinate_axis(model), "q0")])
    start = None if q0 is None else alignment.values[0]
    problem, q, shape, defect = read_problem(
        model, T, start, frame, weights, (lower, upper), tolerance, seed
    )
    restarts = count(restarts, "restarts")
    if solutions is None:
        found, tries = problem.search(q, restarts)
    else:
        shape = (*shape, max(1, count(solutions, "solutions")))
        found, tries, problem = problem.several(q, restarts, shape[-1])
    if posture is not None:
        found = problem.towards(found, np.asarray(coordinates(model, posture, "posture"), float))
    positions = found.q.reshape(*shape, model.nq)
    return IKResult(
        alignment.label(positions, [coordinate_axis(model)], "q"),
        problem.reached(found).reshape(shape)[()],
        np.sqrt(found.distance).reshape(shape)[()],
        np.sqrt(found.angle).reshape(shape)[()],
        tries.reshape(shape)[()],
        defect,
    )


def read_problem(
    model: Model,
    T: Target,
    q0: ArrayLike | None,
    frame: str | None,
    weights: ArrayLike | None,
    limits: tuple[StateLike | None, StateLike | None],
    tolerance: float,
    seed: int,
) -> "tuple[Problem, Array, tuple[int, ...], float]":
    """The problem of the arguments, its starts (B, nq), the leading shape, `rotation_defect`."""
    targets = read_targets(model, T, frame)
    bounds = _limits(model, *limits)
    start = _start(model, bounds, q0)
    shape = np.broadcast_shapes(targets.shape, start.shape[:-1])
    problem = Problem(
        model,
        bounds,
        targets.flat(shape),
        descent_kernel(model, targets.tasks),
        _weights(weights, len(targets.tasks)),
        positive(tolerance, "tolerance", "rad and m"),
        count(seed, "seed"),
    )
    q = np.broadcast_to(start, (*shape, model.nq)).reshape(-1, model.nq)
    return problem, np.array(q), shape, targets.defect


@dataclass(frozen=True, eq=False)
class State:
    """What rounds of the kernel carry on, for B poses."""

    q: Array
    s: Array
    cost: Array
    mu: Array
    slow: Array
    left: Array
    angle: Array
    distance: Array

    @classmethod
    def at(cls, q: Array, n: int, mu: float = START_DAMPING) -> "State":
        """The state before the first round."""
        zero = np.zeros(len(q))
        return cls(q, np.zeros((len(q), n)), zero + FAR, zero + mu, zero, zero, zero + FAR,
                   zero + FAR)  # fmt: skip

    def arrays(self) -> tuple[Array, ...]:
        """The arguments of the kernel."""
        return tuple(vars(self).values())

    def __getitem__(self, at: Array) -> "State":
        return State(*(x[at] for x in self.arrays()))

    def put(self, at: Array, other: "State") -> None:
        """Write the states of some poses."""
        for x, y in zip(self.arrays(), other.arrays(), strict=True):
            x[at] = y


@dataclass(frozen=True, eq=False)
class Problem:
    """Targets of B poses, (B, ...) each, and what all of them share."""

    model: Model
    bounds: Bounds
    targets: tuple[Array, ...]
    kernel: Kernel
    weights: Array
    tolerance: float
    seed: int

    def reached(self, state: State) -> Array:
        """Whether the errors of poses are at most the tolerance."""
        return np.maximum(state.angle, state.distance) <= self.tolerance**2

    def part(self, at: Array) -> "Problem":
        """Some of the poses."""
        return replace(self, targets=tuple(x[at] for x in self.targets))

    def run(
        self,
        state: State,
        rounds: int,
        progress: float,
        gain: float = 0,
        posture: Array | None = None,
    ) -> State:
        """Rounds from a state; poses that are done leave the batch after every slice."""
        now, going = state[np.arange(len(state.q))], np.arange(len(state.q))
        wanted = np.zeros(self.model.n) if posture is None else posture
        limits = self.bounds.lower, self.bounds.upper
        while len(going) and rounds > 0:
            some = now[going]
            some.left[:] = min(SLICE, rounds)
            targets = (x[going] for x in self.targets)
            after = State(*self.kernel(
                *some.arrays(), *limits, self.weights, self.tolerance, progress, gain, wanted,
                *targets,
            ))  # fmt: skip
            now.put(going, after)
            going = going[after.left <= 0]
            rounds -= SLICE
        return now

    def search(self, q: Array, restarts: int) -> tuple[State, Array]:
        """The nearest state of every pose, from q and further starts, and how many were tried."""
        best = self.first(q)
        tries, first, near = np.zeros(len(q), int), 1, best.q.copy()
        going = np.flatnonzero(~self.reached(best))
        while len(going) and first <= restarts:
            width = min(max(1, AT_ONCE // len(going)), restarts + 1 - first)
            starts = self.starts(near[going], range(first, first + width))
            every = np.repeat(going, width)
            found = self.part(every).run(
                State.at(starts, self.model.n), SEARCH_ROUNDS, SEARCH_PROGRESS
            )
            reached = self.reached(found).reshape(-1, width)
            cost = found.cost.reshape(-1, width)
            chosen = np.where(reached.any(axis=1), reached.argmax(axis=1), cost.argmin(axis=1))
            own = found[np.arange(len(going)) * width + chosen]
            nearer = reached.any(axis=1) | (own.cost < best.cost[going])
            best.put(going[nearer], own[np.flatnonzero(nearer)])
            tries[going] = np.where(reached.any(axis=1), first + chosen, first + width - 1)
            going = going[~reached.any(axis=1)]
            first += width
        if len(going):
            best.put(going, self.part(going).polished(best[going]))
        self.unwind(best, q)
        return best, tries

    def first(self, q: Array) -> State:
        """The states that are reached from q; one pose alone enters the machine code directly."""
        if len(q) != 1:
            return self.run(State.at(q, self.model.n), SEARCH_ROUNDS, SEARCH_PROGRESS)
        zero, far = np.zeros(self.model.n), np.float64(FAR)
        numbers = (START_DAMPING, 0, SEARCH_ROUNDS), (self.tolerance, SEARCH_PROGRESS, 0)
        mu_slow_left, options = (map(np.float64, x) for x in numbers)
        found = self.kernel(
            q[0], zero, far, *mu_slow_left, far, far, self.bounds.lower, self.bounds.upper,
            self.weights, *options, zero, *(x[0] for x in self.targets),
        )  # fmt: skip
        return State(*(np.array(x, ndmin=1 + (k < 2)) for k, x in enumerate(found)))

    def several(self, q: Array, restarts: int, most: int) -> "tuple[State, Array, Problem]":
        """Up to so many different states of every pose, the numbers of their starts, the poses.

        Where there are fewer, the nearest state that is not reached, or the first one, follows.
        """
        first = self.run(State.at(q, self.model.n), SEARCH_ROUNDS, SEARCH_PROGRESS)
        width = restarts + 1
        starts = self.starts(first.q, range(width)).reshape(len(q), width, -1)
        starts[:, 0] = q
        every = self.part(np.repeat(np.arange(len(q)), width))
        found = every.run(
            State.at(starts.reshape(-1, q.shape[1]), self.model.n), SEARCH_ROUNDS, SEARCH_PROGRESS
        )
        reached = every.reached(found)
        self.unwind(found, np.repeat(q, width, axis=0))
        chosen: list[int] = []
        for k in range(len(q)):
            rows = np.arange(k * width, (k + 1) * width)
            own: list[int] = []
            for row in rows[reached[rows]]:
                apart = np.abs(found.q[own] - found.q[row]).max(axis=-1, initial=0)
                if len(own) < most and (apart > DIFFERENT).all():
                    own.append(int(row))
            others = rows[~reached[rows]]
            spare = int(others[found.cost[others].argmin()]) if len(others) else int(rows[0])
            chosen += own + [spare] * (most - len(own))
        picked = np.array(chosen)
        state = found[picked]
        for k in np.flatnonzero(np.diff(picked, prepend=-1) == 0):  # a repeated one is none
            state.distance[k] = np.inf
        return state, picked % width, every.part(picked)

    def polished(self, state: State) -> State:
        """The minimum next to each state."""
        return self.run(State.at(state.q, self.model.n), POLISH_ROUNDS, POLISH_PROGRESS)

    def towards(self, state: State, posture: Array) -> State:
        """States that are reached, moved to a posture as far as the targets allow."""
        coords = self.bounds.coords
        wanted = np.where(coords >= 0, posture[coords], 0.0)
        moved = self.run(State.at(state.q, self.model.n), POSTURE_ROUNDS, 1, POSTURE_GAIN, wanted)
        end = self.polished(moved)
        kept = self.reached(end) & self.reached(state)
        out = state[np.arange(len(state.q))]
        out.put(kept, end[np.flatnonzero(kept)])
        return out

    def unwind(self, state: State, q: Array) -> None:
        """Take full turns from hinges, so that they are next to q, (B, nq), within the limits."""
        at, bounds = self.hinges, self.bounds
        coords, low, high = bounds.coords[at], bounds.lower[at], bounds.upper[at]
        own = state.q[:, coords]
        turned = own - TURN * np.rint((own - q[:, coords]) / TURN)
        state.q[:, coords] = np.where((low <= turned) & (turned <= high), turned, own)

    @property
    def hinges(self) -> list[int]:
        """Degrees of freedom of which a full turn changes no frame."""
        if self.model.constraints is not None:
            return []
        leaders = {x.follows for x in self.model.joints}
        free = [x for x in self.model.joints if x.follows is None and x.name not in leaders]
        return [x.dofs[0] for x in free if x.type == REVOLUTE]

    def starts(self, q: Array, numbers: Sequence[int]) -> Array:
        """Starts of those numbers for each q, (B, nq): (B * starts, nq).

        Entries that no limit bounds are within half a turn or half a metre of 0; joints with
        several degrees of freedom stay where the first start ended.
        """
        own = self.bounds.coords >= 0
        low, high = self.bounds.lower[own], self.bounds.upper[own]
        reach = np.where(self.bounds.sliding[own], 0.5, np.pi)
        low = np.where(np.isfinite(low), low, np.minimum(-reach, high - 2 * reach))
        high = np.where(np.isfinite(high), high, np.maximum(reach, low + 2 * reach))
        d = len(low)
        ratio = np.roots([1, *[0] * (d - 1), -1, -1]).real.max() if d else 1.0
        steps = ratio ** -np.arange(1.0, d + 1)
        share = np.modf(0.5 + (np.array(numbers)[:, None] + 4096 * self.seed) * steps)[0]
        out = np.repeat(q, len(numbers), axis=0).reshape(len(q), len(numbers), -1)
        out[..., self.bounds.coords[own]] = low + share * (high - low)
        return out.reshape(-1, q.shape[1])


# ----- input


def _limits(model: Model, lower: StateLike | None, upper: StateLike | None) -> Bounds:
    """The limits of joints and of those that follow them, or others."""
    if lower is None and upper is None:
        return remembered(model, ("limits of inverse kinematics",), lambda: _narrowed(model))
    return _narrowed(model, lower, upper)


def _narrowed(
    model: Model, lower: StateLike | None = None, upper: StateLike | None = None
) -> Bounds:
    bounds = bounds_of(model)
    low, high = bounds.lower.copy(), bounds.upper.copy()
    for joint in model.joints:
        if joint.follows is not None:  # q = multiplier q_leader + offset
            _narrow(joint, low, high)
    if lower is not None:
        low = _vector(lower, bounds.names, "lower")
    if upper is not None:
        high = _vector(upper, bounds.names, "upper")
    for k in np.flatnonzero(~(low <= high))[:1]:
        raise InputError(
            f"the limits of {bounds.names[k]!r} exclude everything: lower = {low[k]:g}, upper = "
            f"{high[k]:g}; expected lower <= upper."
        )
    return replace(bounds, lower=low, upper=high)


def _vector(value: StateLike, names: tuple[str, ...], name: str) -> Array:
    x = np.asarray(vector_by_name(value, Axis(names), name), float)
    if x.shape != (len(names),):
        raise ShapeError(f"{name} has shape {x.shape}; expected ({len(names)},), one for each of "
                         f"{', '.join(names)}.")  # fmt: skip
    return x


def _narrow(joint: Joint, low: Array, high: Array) -> None:
    """Narrow the limits of a leader by those of a joint at scale q + offset that follows it."""
    scale, k = float(joint.scale), joint.dofs[0]
    if scale:
        ends = [(x - float(joint.offset)) / scale for x in (joint.limits.lower, joint.limits.upper)]
        low[k], high[k] = max(low[k], min(ends)), min(high[k], max(ends))


def _start(model: Model, bounds: Bounds, q0: ArrayLike | None) -> Array:
    """Where the first start begins, (..., nq), within the limits."""
    own = bounds.coords >= 0
    coords, low, high = bounds.coords[own], bounds.lower[own], bounds.upper[own]
    if q0 is None:
        q = np.array(dynamics.start_position(model), float)
    else:
        q = np.array(numbers(q0, "q0", f"joint positions, shape (..., {model.nq})"), float)
        _check_start(model, q)
        outside = np.maximum(low - q[..., coords], q[..., coords] - high)
        if outside.size and outside.max() > OUTSIDE:
            at = np.unravel_index(int(outside.argmax()), outside.shape)
            k = int(at[-1])
            raise InputError(
                f"q0 of {np.array(bounds.names)[own][k]!r} is {q[(*at[:-1], coords[k])]:.6g}, "
                f"outside its limits {low[k]:.6g} ... {high[k]:.6g}; expected a position within."
            )
    q[..., coords] = np.clip(q[..., coords], low, high)
    return q


def _check_start(model: Model, q: Array) -> None:
    if q.shape[-1:] != (model.nq,):
        raise ShapeError(
            f"q0 has shape {q.shape}; expected (..., {model.nq}): "
            f"{', '.join(model.coordinate_names)}."
        )
    if not np.isfinite(q).all():
        raise InputError("q0 has entries that are not finite; expected numbers.")
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE) and joint.follows is None:
            off = np.abs(np.linalg.norm(q[..., list(joint.coords[:4])], axis=-1) - 1).max(initial=0)
            if off > QUATERNION:
                raise InputError(
                    f"the quaternion of {joint.name!r} in q0 has a length that differs from 1 by "
                    f"{off:.3g}; expected a unit quaternion."
                )


def _weights(given: ArrayLike | None, count: int) -> Array:
    x = np.ones((count, 2)) if given is None else numbers(given, "weights", "(angle, distance)")
    if x.shape not in ((2,), (count, 2)) or not (np.isfinite(x).all() and x.min() >= 0):
        raise InputError(
            f"weights is {np.asarray(given).tolist()!r:.60}; expected (angle, distance) or {count} "
            "rows of them, finite and not below 0."
        )
    return np.array(np.broadcast_to(x, (count, 2)), float)
