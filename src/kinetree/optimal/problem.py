"""Problem: a robot, a horizon and costs as data, and its solution.

The graphs of a problem depend on the robot, the time step and the kinds of its costs. Weights,
targets and the start are numbers, so that a problem that differs in these alone is solved by the
same machine code.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algorithms.joints.configuration import start_position
from kinetree.algorithms.steps import METHODS
from kinetree.algorithms.stiction import dry_friction
from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.figure import Figure
from kinetree.base.options import count
from kinetree.base.progress import Progress
from kinetree.base.tables import counted
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description.joints import FREE
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.motion.record import FilePath
from kinetree.motion.trajectory import Trajectory
from kinetree.optimal.costs import Cost
from kinetree.optimal.explain import Pushes, plot_of, pushes
from kinetree.optimal.forward import Bounds
from kinetree.optimal.ilqr import CONVERGED, Plans, Solver
from kinetree.optimal.residuals import (
    KINDS,
    Costs,
    key_of,
    named,
    size_of,
    target_of,
    weights,
)
from kinetree.optimal.sampling import Search, checked, sampler, together
from kinetree.optimal.stages import EULER, Transcription
from kinetree.robot import Robot

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
        actuated: names of the degrees of freedom with a motor; None: all but those of a free base.
        limits: "robot": the effort limits of the joints; None: no limits; or numbers, shape () or
            (m,) for m actuated degrees of freedom, N m or N.
        method: of one step: "semi_implicit_euler", "euler" or "rk4".

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

    def __post_init__(self) -> None:
        dt = float(self.dt)
        if not (np.isfinite(dt) and dt > 0):
            raise InputError(f"dt is {self.dt!r}; expected a time step > 0, in s.")
        steps = count(self.steps, "steps")
        if steps < 1:
            raise InputError(f"steps is {steps}; expected at least one step of the horizon.")
        if self.method not in SMOOTH:
            raise InputError(f"method is {self.method!r}; choose one of {', '.join(SMOOTH)}.")
        check_robot(self.robot.model)
        for key, value in {"dt": dt, "steps": steps, "costs": named(self.costs)}.items():
            object.__setattr__(self, key, value)
        numbers_of(self)  # weights and targets are checked here
        bounds_of_forces(self)

    @property
    def model(self) -> Model:
        """The robot's model."""
        return self.robot.model

    @property
    def motors(self) -> tuple[int, ...]:
        """The degrees of freedom that have a motor."""
        names = self.model.dof_names
        if self.actuated is None:
            free = {d for joint in self.model.joints if joint.type == FREE for d in joint.dofs}
            return tuple(k for k in range(self.model.n) if k not in free)
        unknown = [name for name in self.actuated if name not in names]
        if unknown:
            raise InputError(
                f"actuated names {unknown[0]!r}, which is no degree of freedom of "
                f"{self.model.name!r}; expected some of {', '.join(names)}."
            )
        return tuple(k for k, name in enumerate(names) if name in self.actuated)

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
        B, solver, bounds = len(x0), self.solver, bounds_of_forces(self)
        numbers = np.broadcast_to(
            numbers_of(self)[:, None], (self.steps + 1, B, solver.this.layout.size)
        )
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
        temperature: float = 0.02,
        elites: int | None = None,
        smooth: float = 0.0,
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
            method: "mppi": the mean of all samples weighted by exp(-cost / scale);
                "cross-entropy": mean and spread of the cheapest samples.
            samples: number of samples of an iteration, dimensionless.
            iterations: so many, dimensionless.
            noise: standard deviation of the motors' forces, shape () or (m,), N m or N; None:
                forces that would move each joint alone by half a rad or m within the horizon.
                Cross-entropy begins with it.
            temperature: of MPPI: the scale, relative to the median cost of the samples less the
                least, dimensionless.
            elites: of cross-entropy: how many of the samples count, dimensionless; None: one of 20.
            smooth: time constant of the noise, s: forces a time apart have the correlation
                exp(-time / smooth); 0: none.
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
        B, N, motors, bounds = len(x0), self.steps, list(self.motors), bounds_of_forces(self)
        m, q = len(motors), x0[:, : self.model.nq]
        search = Search(method, samples, iterations, temperature, elites, smooth, seed)
        if guess is None:
            u = np.broadcast_to(np.asarray(self.robot.gravity_forces(q))[:, motors], (N, B, m))
        else:
            forces = guess.plans.u if isinstance(guess, Solution) else guess
            u = checked(forces, "guess", (N, m), (N, B, m)).reshape(N, -1, m)
        u = np.clip(np.broadcast_to(u, (N, B, m)), bounds.low, bounds.high)
        if noise is None:
            lightness = np.asarray(self.robot.inverse_mass_matrix(q))[:, motors, motors]
            spread = 1 / (lightness * (N * self.dt) ** 2)
        else:
            spread = checked(noise, "noise", (), (m,))
            if not (spread > 0).all():
                raise InputError(f"noise is {noise!r:.60}; expected numbers > 0, in N m or N.")
        spread = np.broadcast_to(spread, (B, m))
        this = Transcription(self.model, self.dt, self.motors, dict(self.costs), self.method)
        runs, p, done = sampler(this), numbers_of(self), itertools.count(1)
        with Progress("sampling", B * search.iterations, progress, ROUNDS) as bar:
            plans = [
                runs.search(
                    x0[b], u[:, b], spread[b], p, bounds, search, lambda: bar.update(next(done))
                )
                for b in range(B)
            ]
        return Solution(self, together(plans), single)

    @property
    def solver(self) -> Solver:
        """The compiled passes, shared by problems that differ in numbers alone."""
        assert isinstance(self.costs, dict)
        this = Transcription(self.model, self.dt, self.motors, dict(self.costs), self.method)
        limited = bounds_of_forces(self).any
        kinds = tuple((name, *key_of(cost)) for name, cost in self.costs.items())
        key = "optimal", self.dt, self.motors, self.method, limited, kinds
        return remembered(self.model, key, lambda: Solver(this, limited))

    def _start(self, q0: ArrayLike | None, dq0: ArrayLike | None) -> tuple[Array, bool]:
        """States (B, nx), and whether a single one was given."""
        nq, n = self.model.nq, self.model.n
        q = start_position(self.model) if q0 is None else np.asarray(q0, float)
        dq = np.zeros(n) if dq0 is None else np.asarray(dq0, float)
        for name, x, size in (("q0", q, nq), ("dq0", dq, n)):
            if x.ndim not in (1, 2) or x.shape[-1] != size:
                raise ShapeError(f"{name} has shape {x.shape}; expected ({size},) or (B, {size}).")
            if not np.isfinite(x).all():
                raise InputError(f"{name} has an entry that is not finite.")
            if 0 in x.shape:
                raise ShapeError(f"{name} has shape {x.shape}; expected at least one start.")
        single = q.ndim == dq.ndim == 1
        batch = np.broadcast_shapes(q.shape[:-1], dq.shape[:-1]) or (1,)
        parts = [np.broadcast_to(q, (*batch, nq)), np.broadcast_to(dq, (*batch, n))]
        return np.concatenate(parts, axis=1), single

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
            tau = np.asarray(self.robot.gravity_forces(x0[:, : self.model.nq]))
            u = np.broadcast_to(tau[:, list(self.motors)], (N, B, m))
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
        return self._shown(self.plans.x[..., self.problem.model.nq :])

    @property
    def tau(self) -> Array:
        """Joint forces, (steps, n), N m or N; zero for joints without a motor."""
        u = self.plans.u
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
        return self.plans.reasons[0] if self.single else list(self.plans.reasons)

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


def check_robot(model: Model) -> None:
    """Raise for a robot whose motion is not smooth, or whose constraints are not modelled here."""
    if model.n == 0:
        raise ModelError(f"{model.name!r} cannot move; expected a robot with a joint.")
    if model.constraints is not None:
        raise ModelError(
            f"{model.name!r} has constraints, which kinetree.optimal does not plan for yet; "
            "expected a chain or a tree: robot.unconstrained()."
        )
    dry = tuple(dry_friction(model))
    if dry:
        raise ModelError(
            f"joint {model.dof_names[dry[0]]!r} has dry friction, whose slope jumps at rest; "
            "expected friction that is smooth: robot.with_friction({joint: friction}) with "
            "kt.Friction(sigmoid=kt.Sigmoid(...)) or kt.Friction(viscous)."
        )


def bounds_of_forces(problem: Problem) -> Bounds:
    """Limits of the motors' forces, (m,) each."""
    motors, limits = list(problem.motors), problem.limits
    if limits is None:
        most = np.full(len(motors), np.inf)
    elif isinstance(limits, str):
        if limits != "robot":
            raise InputError(f"limits is {limits!r}; expected 'robot', None or numbers.")
        most = bounds_of(problem.model).effort[motors]
    else:
        most = np.asarray(limits, float)
        if most.shape not in ((), (len(motors),)) or not (most > 0).all():
            raise InputError(
                f"limits is {limits!r:.60}; expected one number > 0 or {len(motors)}, in N m or N."
            )
        most = np.broadcast_to(most, (len(motors),))
    return Bounds(-most, most)


def numbers_of(problem: Problem) -> Array:
    """The numbers p of all stages, (steps + 1, p): time, weights and targets."""
    assert isinstance(problem.costs, dict)
    model, N = problem.model, problem.steps
    columns: list[Array] = [np.arange(N + 1)[:, None] * problem.dt]
    for name, cost in problem.costs.items():
        size, aim = size_of(cost, model), target_of(cost, model)
        w = np.tile(weights(cost.weight, size, f"weight of cost {name!r}"), (N + 1, 1))
        if KINDS[type(cost)].forces and np.asarray(cost.final).any():
            raise InputError(
                f"cost {name!r} is one of forces, which the last state does not have; expected no "
                "final weight."
            )
        w[-1] = weights(cost.final, size, f"final weight of cost {name!r}")
        if aim.ndim == 2 and len(aim) != N + 1:
            raise ShapeError(
                f"the target of cost {name!r} has {len(aim)} rows; expected {N + 1}, one for each "
                "state of the horizon."
            )
        columns += [w, np.broadcast_to(aim, (N + 1, aim.shape[-1]))]
    return np.concatenate(columns, axis=1)
