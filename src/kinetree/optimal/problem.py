"""Problem: a robot, a horizon and costs as data, and its solution.

The graphs of a problem depend on the robot, the time step and the kinds of its costs. Weights,
targets and the start are numbers, so that a problem that differs in these alone is solved by the
same machine code.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algorithms.joints.configuration import start_position
from kinetree.algorithms.steps import METHODS
from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.figure import Figure
from kinetree.base.options import count, finite, numbers
from kinetree.base.progress import Progress
from kinetree.base.tables import counted
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.joints import FREE
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.motion.record import FilePath
from kinetree.motion.trajectory import Trajectory
from kinetree.optimal.costs import Cost
from kinetree.optimal.explain import Pushes, plot_of, pushes
from kinetree.optimal.forward import Bounds
from kinetree.optimal.ilqr import BAD_START, CONVERGED, Plans, Solver
from kinetree.optimal.numbers import Many, numbers_of_many, numbers_of_one
from kinetree.optimal.residuals import Costs, named, settled
from kinetree.optimal.sampling import Search, checked, sampler, together
from kinetree.optimal.stages import EULER, Transcription
from kinetree.optimal.starts import (
    check_robot,
    control_ranges,
    first_noise,
    forces_of_controls,
    holding,
    is_deflection,
    start_memory,
)
from kinetree.robot import Robot
from kinetree.simulate.core.closure import check_start

ROUNDS = "{task.completed:.0f} of {task.total:.0f} iterations"
SMOOTH = [name for name, method in METHODS.items() if not method.implicit]


@dataclass(frozen=True, eq=False)
class Problem:
    """Motion and joint forces of a robot over a horizon that shall have the least cost.

    Args:
        robot: the robot.
        dt: time step, s.
        steps: number of steps of the horizon.
        costs: by name, or a list.
        actuated: names of the degrees of freedom with a motor, in the order of limits, guesses
            and gains; None: all but those of a free base and deflections of elastic joints, or
            those of `robot.constrained(actuated=...)`.
        limits: "robot": the effort limits of the joints, or the ranges of controls; None: no
            limits; or numbers, shape () or (m,) for m motors, N m or N.
        method: of one step: "semi_implicit_euler", "euler" or "rk4".
        controls: plan the controls of the robot's actuators in place of joint forces.
        activation: of the actuators at the start, shape (a,) in the order of
            `robot.model.activation_names`, in their units; None: 0.
        before: forces or controls before the first step, shape (m,), N m or N, from which
            `EffortChange` begins; None: those that hold the start against gravity.
        many: what differs between problems that are solved at once; `batch` makes it.

    Example:
        >>> from kinetree import optimal
        >>> robot = kt.robots.planar_2r()
        >>> problem = optimal.Problem(
        ...     robot, dt=0.02, steps=50,
        ...     costs=[optimal.Posture(target=[1, 0.5], final=1e4), optimal.Rates(final=10),
        ...            optimal.Effort(weight=1e-3)],
        ... )
        >>> problem.solve([0, 0]).q[-1].round(1)
        array([1. , 0.5])
    """

    robot: Robot
    dt: float
    steps: int
    costs: Costs
    actuated: Sequence[str] | None = None
    limits: ArrayLike | str | None = "robot"
    method: str = EULER
    controls: bool = False
    activation: ArrayLike | None = None
    before: ArrayLike | None = None
    many: Many | None = None

    def __post_init__(self) -> None:
        dt = finite(self.dt, "dt")
        if dt <= 0 or isinstance(self.dt, bool):
            raise InputError(f"dt is {self.dt!r}; expected a time step > 0, in s.")
        steps = count(self.steps, "steps")
        if steps < 1:
            raise InputError(f"steps is {steps}; expected at least one step of the horizon.")
        if self.method not in SMOOTH:
            raise InputError(f"method is {self.method!r}; choose one of {', '.join(SMOOTH)}.")
        check_robot(self.model, self.controls)
        m = len(self.motors)
        costs = {
            name: settled(cost, self.model, m, name) for name, cost in named(self.costs).items()
        }
        for key, value in {"dt": dt, "steps": steps, "costs": costs}.items():
            object.__setattr__(self, key, value)
        numbers_of_all(self, self.many.count if self.many else 1)  # weights and targets are checked
        bounds_of_forces(self)
        self._memory(start_position(self.model)[None])

    @property
    def model(self) -> Model:
        """The robot's model."""
        return self.robot.model

    @property
    def motors(self) -> tuple[int, ...]:
        """The degrees of freedom that have a motor; with controls, the numbers of the actuators."""
        model, names = self.model, self.model.dof_names
        if self.controls:
            if self.actuated is not None:
                raise InputError("actuated names motors, but controls are planned; leave one out.")
            return tuple(range(len(model.actuators)))
        if self.actuated is None:
            free = {d for joint in model.joints if joint.type == FREE for d in joint.dofs}
            free |= {k for k, name in enumerate(names) if is_deflection(model, name)}
            held = model.constraints
            return tuple(
                k for k in (range(model.n) if held is None else held.actuated) if k not in free
            )
        chosen = [] if isinstance(self.actuated, str) else list(self.actuated)
        unknown = [name for name in chosen if name not in names]
        if unknown or not chosen or len({*chosen}) < len(chosen):
            raise InputError(
                f"actuated is {self.actuated!r:.200}; expected different degrees of freedom of "
                f"{model.name!r}, at least one of {', '.join(names)}."
            )
        return tuple(names.index(name) for name in chosen)

    @property
    def transcription(self) -> Transcription:
        """The robot, the step and the costs, from which the solvers are compiled."""
        assert isinstance(self.costs, dict)
        free = () if self.many is None else tuple(self.many.data)
        return Transcription(
            self.model, self.dt, self.motors, self.costs, self.method, self.controls, free
        )

    def batch(
        self,
        *,
        targets: Mapping[str, ArrayLike] | None = None,
        weights: Mapping[str, ArrayLike] | None = None,
        finals: Mapping[str, ArrayLike] | None = None,
        **data: ArrayLike,
    ) -> "Problem":
        """B problems that differ in numbers, to be solved at once; B starts may go with them.

        Args:
            targets: by name of cost, shape (B, k), or (B, steps + 1, k) for targets that move.
            weights: of the steps by name of cost, shape (B,) or (B, entries).
            finals: weights of the last state, likewise.
            data: of the robots, as `robot.compile(free=...)` names them: mass, shape (B, links),
                com, inertia, gravity or springs, SI units. They compile once more.
        """
        if "friction" in data:
            raise InputError("friction that differs may be dry, which is not smooth; leave it out.")
        kinds = [targets or {}, weights or {}, finals or {}, data]
        axes = {np.asarray(x).shape[:1] for kind in kinds for x in kind.values()}
        if len(axes) != 1 or not all(map(all, axes)) or () in axes:
            raise ShapeError(
                "batch expects arrays with one leading axis of problems, the same for all; "
                f"found {', '.join(map(str, sorted(axes))) or 'no arrays'}."
            )
        ((B,),) = axes
        return replace(self, many=Many(B, *kinds))

    def with_costs(self, **changed: Cost) -> "Problem":
        """The problem with some costs replaced: other weights and targets compile nothing.

        Args:
            changed: the new costs by their names.
        """
        assert isinstance(self.costs, dict)
        unknown = [name for name in changed if name not in self.costs]
        if unknown:
            raise InputError(
                f"there is no cost {unknown[0]!r}; expected some of {', '.join(self.costs)}."
            )
        return replace(self, costs={**self.costs, **changed})

    def solve(
        self,
        q0: ArrayLike | None = None,
        dq0: ArrayLike | None = None,
        *,
        guess: "Solution | ArrayLike | None" = None,
        iterations: int = 100,
        tolerance: float = 1e-9,
        seconds: float = np.inf,
        progress: bool | None = None,
    ) -> "Solution":
        """Find the motion of least cost by iLQR, for one start or for many at once.

        Args:
            q0: start position, shape (nq,), or (B, nq) for B problems, rad or m; None: where the
                robot stands.
            dq0: start rates, shape (n,) or (B, n), rad/s or m/s; None: at rest.
            guess: joint forces of the motors to begin with, shape (steps, m), N m or N, or a
                solution to begin at, whose motion may be another one: gaps close by themselves.
                None: the forces that hold the start against gravity.
            iterations: at most so many, dimensionless.
            tolerance: of the decrease of the cost that is still expected, relative to 1 + cost,
                dimensionless.
            seconds: time after which no iteration begins, s.
            progress: show a bar; None: on a terminal, when it takes long.

        Returns:
            The solution; `solution.reason` says why it ended.
        """
        x0, single = self._start(q0, dq0)
        solver, bounds = self.solver, bounds_of_forces(self)
        numbers = numbers_of_all(self, len(x0))
        x, u = self._guess(guess, x0, numbers, bounds)
        with Progress("solving", iterations, progress, ROUNDS) as bar:
            plans = solver.solve(
                x, u, numbers, bounds, iterations=count(iterations, "iterations"),
                tolerance=float(tolerance), seconds=float(seconds),
                each=lambda plans: bar.update(len(plans.history)),
            )  # fmt: skip
        return Solution(self, plans, single)

    def sample(
        self,
        q0: ArrayLike | None = None,
        dq0: ArrayLike | None = None,
        *,
        method: str = "mppi",
        samples: int = 4096,
        iterations: int = 30,
        noise: ArrayLike | None = None,
        knots: int | None = None,
        share: float = 0.1,
        seed: int = 0,
        guess: "Solution | ArrayLike | None" = None,
        progress: bool | None = None,
    ) -> "Solution":
        """Search a motion of little cost by random forces, which needs no slopes.

        The forces of every sample and of every plan are clipped to the limits of the problem.

        Args:
            q0: start position, shape (nq,), or (B, nq) for B problems, rad or m; None: where the
                robot stands.
            dq0: start rates, shape (n,) or (B, n), rad/s or m/s; None: at rest.
            method: "mppi": samples weighted by exp(-cost / temperature); "cross-entropy": the
                cheapest samples alike. Both move the plan to the mean and adapt the spread.
            samples: number of samples of an iteration, dimensionless.
            iterations: so many, dimensionless.
            noise: standard deviation of the motors' forces to begin with, shape () or (m,), N m or
                N; None: forces that would move every joint by itself, by about half a rad or m
                within the horizon; of controls, a quarter of their range.
            knots: number of times between which the noise is linear, dimensionless; None: eight,
                or fewer for short horizons and many motors.
            share: of the samples that count, dimensionless: MPPI finds the temperature for it.
            seed: of the random numbers; the same one gives the same bits on every machine.
            guess: joint forces of the motors to begin with, shape (steps, m) or (steps, B, m), N m
                or N, or a solution; None: the forces that hold the start against gravity.
            progress: show a bar; None: on a terminal, when it takes long.

        Returns:
            The cheapest of the guess and of the plans of all iterations; its gains are zero. It is
            a good guess for `solve`.
        """
        assert isinstance(self.costs, dict)
        x0, single = self._start(q0, dq0)
        B, N, m, bounds = len(x0), self.steps, len(self.motors), bounds_of_forces(self)
        q, this = x0[:, : self.model.nq], self.transcription
        search = Search(method, samples, iterations, share, knots, seed)
        if knots is not None and knots > N:
            raise InputError(f"knots is {knots}; expected 2 to {N}, the number of steps.")
        if guess is None:
            u = np.broadcast_to(holding(self.robot, this, q), (N, B, m))
        else:
            forces = guess.plans.u if isinstance(guess, Solution) else guess
            u = checked(forces, "guess", (N, m), (N, B, m)).reshape(N, -1, m)
        u = np.clip(np.broadcast_to(u, (N, B, m)), bounds.low, bounds.high)
        p, done = numbers_of_all(self, B), itertools.count(1)
        T = first_noise(self.robot, this, N * self.dt, noise, q)
        runs = sampler(this, p, knots)
        with Progress("sampling", B * search.iterations, progress, ROUNDS) as bar:
            plans = [
                runs.search(
                    x0[b], u[:, b], T[b], p[:, b], bounds, search, lambda: bar.update(next(done))
                )
                for b in range(B)
            ]
        return Solution(self, together(plans), single)

    @property
    def solver(self) -> Solver:
        """The compiled passes, shared by problems that differ in numbers alone."""
        this, limited = self.transcription, bounds_of_forces(self).any
        key = "optimal", limited, this.key
        return remembered(self.model, key, lambda: Solver(this, limited))

    def _memory(self, q: Array) -> Array:
        """Activations and forces before the start, (B, z), for positions (B, nq)."""
        return start_memory(self.robot, self.transcription, q, self.activation, self.before)

    def _start(self, q0: ArrayLike | None, dq0: ArrayLike | None) -> tuple[Array, bool]:
        """States (B, nx), and whether a single one was given."""
        nq, n = self.model.nq, self.model.n
        q = start_position(self.model) if q0 is None else numbers(q0, "q0", "joint positions")
        dq = np.zeros(n) if dq0 is None else numbers(dq0, "dq0", "joint rates")
        for name, x, size in (("q0", q, nq), ("dq0", dq, n)):
            if x.ndim not in (1, 2) or x.shape[-1] != size:
                raise ShapeError(f"{name} has shape {x.shape}; expected ({size},) or (B, {size}).")
            if not np.isfinite(x).all():
                raise InputError(f"{name} has an entry that is not finite.")
            if 0 in x.shape:
                raise ShapeError(f"{name} has shape {x.shape}; expected at least one start.")
        single = q.ndim == dq.ndim == 1 and self.many is None
        count = () if self.many is None else (self.many.count,)
        counts = [q.shape[:-1], dq.shape[:-1], count]
        if len({*counts} - {()}) > 1:
            raise ShapeError(
                f"q0 is {q.shape[:-1]} and dq0 {dq.shape[:-1]} starts of {count} problems; "
                "expected the same number, or one."
            )
        batch = np.broadcast_shapes(*counts) or (1,)
        parts = [np.broadcast_to(q, (*batch, nq)), np.broadcast_to(dq, (*batch, n))]
        check_start(self.model, *parts)
        return np.concatenate([*parts, self._memory(parts[0])], axis=1), single

    def _guess(self, guess: Any, x0: Array, numbers: Array, bounds: Bounds) -> tuple[Array, Array]:
        """States and forces to begin with."""
        B, N, m = len(x0), self.steps, len(self.motors)
        if isinstance(guess, Solution):
            x, u = (np.array(a) for a in (guess.plans.x, guess.plans.u))
            if u.shape != (N, B, m) or x.shape[-1] != x0.shape[-1]:
                raise ShapeError(
                    f"the guess has {u.shape[0]} steps of {counted(u.shape[1], 'problem')}; "
                    f"expected {N} steps of {B}."
                )
            x[0] = x0
            return x, u
        if guess is None:
            u = np.broadcast_to(
                holding(self.robot, self.transcription, x0[:, : self.model.nq]), (N, B, m)
            )
        else:
            u = np.asarray(guess, float)
            if u.shape not in ((N, m), (N, B, m)):
                raise ShapeError(f"guess has shape {u.shape}; expected forces ({N}, {m}).")
            u = np.broadcast_to(u if u.ndim == 3 else u[:, None], (N, B, m))
        u = np.clip(u, bounds.low, bounds.high)
        return self.solver.rollout(x0, u, numbers, bounds), u


@dataclass(frozen=True, eq=False)
class Solution:
    """The plans of a problem. With many starts, arrays have an axis of problems after time.

    Args:
        problem: the problem that was solved.
        plans: the plans of the solver.
        single: whether one start was given.
    """

    problem: Problem
    plans: Plans
    single: bool

    def _shown(self, x: Array) -> Array:
        return x[:, 0] if self.single else x

    @property
    def q(self) -> Array:
        """Joint positions, (steps + 1, nq), rad or m."""
        return self._shown(self.plans.x[..., : self.problem.model.nq])

    @property
    def dq(self) -> Array:
        """Joint rates, (steps + 1, n), rad/s or m/s."""
        nq, n = self.problem.model.nq, self.problem.model.n
        return self._shown(self.plans.x[..., nq : nq + n])

    @property
    def controls(self) -> Array:
        """What was planned, (steps, m): controls of the actuators, or forces of the motors."""
        return self._shown(self.plans.u)

    @property
    def tau(self) -> Array:
        """Joint forces, (steps, n), N m or N; zero for joints without a motor."""
        u = self.plans.u
        if self.problem.controls:
            return self._shown(forces_of_controls(self.problem.transcription)(self.plans.x[:-1], u))
        tau = np.zeros((*u.shape[:2], self.problem.model.n))
        tau[..., list(self.problem.motors)] = u
        return self._shown(tau)

    @property
    def gains(self) -> Array:
        """K, (steps, m, 2n): the motors' forces change by K times the deviation of (q, dq)."""
        return self._shown(self.plans.K)

    @property
    def cost(self) -> Any:
        """The whole cost: a number, or (B,)."""
        return float(self.plans.cost[0]) if self.single else self.plans.cost

    @property
    def costs(self) -> dict[str, Any]:
        """The cost by residual."""
        return self._by_name(self.plans.costs)

    def _by_name(self, costs: Array) -> dict[str, Any]:
        columns = zip(map(str, self.problem.costs), costs.T, strict=True)
        return {name: float(x[0]) if self.single else x for name, x in columns}

    @property
    def reason(self) -> Any:
        """Why it ended: "converged", "iterations", "time" or what went wrong."""
        bad = [~np.isfinite(row) for row in self.plans.costs]
        reasons = [
            f"{reason}: {', '.join(np.array(list(self.problem.costs))[which])}"
            if reason == BAD_START
            else reason
            for reason, which in zip(self.plans.reasons, bad, strict=True)
        ]
        return reasons[0] if self.single else reasons

    @property
    def converged(self) -> Any:
        """Whether it converged: True or False, or (B,)."""
        done = np.array([x == CONVERGED for x in self.plans.reasons])
        return bool(done[0]) if self.single else done

    @property
    def gap(self) -> float:
        """The largest entry by which a step misses the next state; 0 for a motion."""
        return float(np.abs(self.plans.gaps).max(initial=0))

    @property
    def history(self) -> list[dict[str, Any]]:
        """What each iteration did: cost and costs, length of the step, decrease expected."""
        return [
            {key: float(np.ravel(x)[0]) if self.single else x for key, x in row.items()}
            | {"costs": self._by_name(row["costs"])}
            for row in self.plans.history
        ]

    @property
    def trajectory(self) -> Trajectory:
        """The motion; the forces of the last sample are those of the last step."""
        tau = self.tau
        t = np.arange(self.problem.steps + 1) * self.problem.dt
        rates = self.dq
        ddq = np.diff(rates, axis=0) / self.problem.dt
        return Trajectory(
            t=t, q=self.q, dq=rates, ddq=np.concatenate([ddq, ddq[-1:]]),
            tau=np.concatenate([tau, tau[-1:]]), model=self.problem.model, name="plan",
        )  # fmt: skip

    def __getitem__(self, k: int) -> "Solution":
        """The plan of one of many starts."""
        k = range(len(self.plans.reasons))[k]
        return replace(self, plans=self.plans.one(k), single=True)

    def plot(self, path: FilePath | None = None) -> Figure:
        """A figure of states and forces with their limits, and of the costs over the iterations.

        Args:
            path: file to write: .svg and .html, or .png, .pdf and others with matplotlib.

        Returns:
            The figure, which a notebook shows; of many starts the median and the range.
        """
        effort = np.full(self.problem.model.n, np.inf)
        effort[list(self.problem.motors)] = bounds_of_forces(self.problem).high
        names = list(map(str, self.problem.costs))
        return plot_of(self.trajectory, effort, self.plans.history, names, path)

    def explain(self, step: int) -> Pushes:
        """Which residual pushes which joint at a step; `print` shows a table.

        Args:
            step: from 0 to steps - 1, dimensionless.

        Returns:
            For each cost, minus its slope by the motors' forces of the step, if later forces stay.
            At the optimum the sum is 0 where a motor is free, and at a limit the limit's price.
        """
        problem = self.problem
        limits = bounds_of_forces(problem).high
        return pushes(problem.solver, self.plans, step, numbers_of(problem), limits)

    def __repr__(self) -> str:
        what = f"{counted(self.problem.steps, 'step')} of {self.problem.dt:g} s"
        if not self.single:
            done = int(np.sum(self.converged))
            return f"Solution({what}, {done} of {len(self.plans.reasons)} converged)"
        rounds = counted(len(self.plans.history), "iteration")
        return f"Solution({what}: cost {self.cost:.6g} after {rounds}, {self.reason})"


def bounds_of_forces(problem: Problem) -> Bounds:
    """Limits of the motors' forces, or of the controls, (m,) each."""
    motors, limits = list(problem.motors), problem.limits
    if limits is None:
        most = np.full(len(motors), np.inf)
    elif isinstance(limits, str):
        if limits != "robot":
            raise InputError(f"limits is {limits!r}; expected 'robot', None or numbers.")
        if problem.controls:
            return Bounds(*control_ranges(problem.transcription))
        most = bounds_of(problem.model).effort[motors]
        if not (most > 0).all():
            name = problem.model.dof_names[motors[int(np.argmin(most))]]
            raise InputError(
                f"joint {name!r} has an effort limit of {most.min():g}, so that its motor cannot "
                "act; expected limits=, or actuated= without it."
            )
    else:
        most = numbers(limits, "limits", "'robot', None or numbers")
        sound = most.shape in ((), (len(motors),)) and not isinstance(limits, bool)
        if not sound or not (most > 0).all():
            raise InputError(
                f"limits is {limits!r:.60}; expected one number > 0 or {len(motors)}, in N m or N."
            )
        most = np.broadcast_to(most, (len(motors),))
    return Bounds(-most, most)


def numbers_of(problem: Problem, passed: int = 0) -> Array:
    """The numbers p of all stages of the problem itself, (steps + 1, p); passed: see numbers.py."""
    return numbers_of_one(problem.transcription, problem.steps, passed)


def numbers_of_all(problem: Problem, B: int, passed: int = 0) -> Array:
    """The numbers p of all stages of B problems, (steps + 1, B, p)."""
    return numbers_of_many(problem.transcription, problem.steps, problem.many, B, passed)
