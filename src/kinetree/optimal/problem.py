"""Problem: a robot, a horizon and costs as data, and its solution.

The graphs of a problem depend on the robot, the time step and the kinds of its costs. Weights,
targets and the start are numbers, so that a problem that differs in these alone is solved by the
same machine code.
"""

import itertools
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.core.options import count, finite, numbers
from kinetree.core.progress import Progress
from kinetree.core.text import counted, look_up
from kinetree.dynamics.joints.configuration import start_position
from kinetree.dynamics.methods import METHODS
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.model import Model
from kinetree.model.elastic import motor_rows
from kinetree.model.inputs import check_quaternions
from kinetree.model.units import units
from kinetree.optimal.costs import Cost
from kinetree.optimal.ilqr import Solver
from kinetree.optimal.inputs import (
    Costs,
    Many,
    bounds_of_forces,
    check_robot,
    checked,
    first_noise,
    forces_of_controls,
    holding,
    named,
    numbers_of,
    start_memory,
)
from kinetree.optimal.sampling import Search, sampler, together
from kinetree.optimal.solution import Solution
from kinetree.optimal.transcription import EULER, Bounds, Transcription
from kinetree.robot import Robot
from kinetree.simulate.inputs import is_on_gpu, on_cpu
from kinetree.simulate.options import TARGETS
from kinetree.simulate.setup import check_start

ROUNDS = "{task.completed:.0f} of {task.total:.0f} iterations"
LARGEST_TURN = np.pi  # rad of a joint within a step, beyond which holding forces do not hold
SMOOTH = [name for name, x in METHODS.items() if not (x.implicit or x.mean_rates)]
UNIT = 1e-6  # what the length of a quaternion may differ from 1 by, in float32 too
LONGEST_HORIZON = 1_000_000  # steps, whose plans still fit in memory


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
        if isinstance(self.dt, bool) or finite(self.dt, "dt") <= 0:
            raise InputError(f"dt is {self.dt!r}; expected a time step > 0, in s.")
        if not 1 <= count(self.steps, "steps") <= LONGEST_HORIZON:
            raise InputError(f"steps is {self.steps}; expected 1 to {LONGEST_HORIZON}.")
        if self.method not in SMOOTH:
            raise InputError(f"method is {self.method!r}; choose one of {', '.join(SMOOTH)}.")
        check_robot(self.model, self.controls)
        copied = ("actuated", "limits", "activation", "before")  # a problem is a value
        own = {key: deepcopy(getattr(self, key)) for key in copied}
        own |= {"dt": float(self.dt), "steps": int(self.steps)}
        own["costs"] = named(self.costs, self.model, len(self.motors))
        vars(self).update(own)
        _ = self._bounds, self._numbers  # weights, targets and limits are checked, and copied
        start_memory(self, start_position(self.model)[None])

    @property
    def model(self) -> Model:
        """The robot's model."""
        return self.robot.model

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """The degrees of freedom that have a motor; with controls, the numbers of the actuators."""
        model = self.model
        if self.controls:
            if self.actuated is not None:
                raise InputError("actuated names motors, but controls are planned; leave one out.")
            return tuple(range(len(model.actuators)))
        rows = motor_rows(model, self.actuated)
        if not rows:
            raise ModelError(
                f"no joint of {model.name!r} has a motor; expected some, as actuated=[...] names "
                f"them among {', '.join(model.dof_names)}, or actuators and controls=True."
            )
        return rows

    @cached_property
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
        for name in changed:
            look_up(self.costs, name, "a cost that changes")
        return replace(self, costs={**self.costs, **changed})

    def solve(
        self,
        q0: ArrayLike | None = None,
        dq0: ArrayLike | None = None,
        *,
        guess: Solution | ArrayLike | None = None,
        iterations: int = 100,
        tolerance: float = 1e-9,
        seconds: float = np.inf,
        tries: int = 1,
        seed: int = 0,
        progress: bool | None = None,
        target: str = "cpu",
    ) -> Solution:
        """Find the motion of least cost by iLQR, for one start or for many at once.

        Args:
            q0: start position, shape (nq,), or (B, nq) for B problems, rad or m; None: where the
                robot stands.
            dq0: start rates, shape (n,) or (B, n), rad/s or m/s; None: at rest.
            guess: joint forces of the motors to begin with, shape (steps, m), N m or N, clipped to
                the limits, or a solution to begin at, whose motion may be another one: gaps close
                by themselves. None: the forces that hold the start against gravity, and where the
                robot falls all the same, the start at all times.
            iterations: at most so many, dimensionless.
            tolerance: of the decrease of the cost that is still expected, relative to the cost and
                a millionth of the first one, and of the sum of the gaps, dimensionless.
            seconds: no iteration begins that would end later, s, but the first.
            tries: number of guesses, dimensionless: the first, and others with random forces
                added; the cheapest plan is returned.
            seed: of the random forces.
            progress: show a bar; None: on a terminal, when it takes long.
            target: "cpu" or "cuda", which solves all problems at once on a GPU; the arrays of the
                solution stay there if q0 is there.

        Returns:
            The solution; `solution.reason` says why it ended.
        """
        x0, single = self._start(q0, dq0, target)
        p = self._data(len(x0))
        iterations, tries = count(iterations, "iterations"), count(tries, "tries")
        tolerance, seconds = (
            finite(tolerance, "tolerance"),
            finite(seconds, "seconds", infinite=True),
        )
        if tolerance < 0 or seconds < 0 or tries < 1:
            raise InputError(
                f"tolerance is {tolerance:g}, seconds {seconds:g} and tries {tries}; expected at "
                "least 0, 0 and 1."
            )
        x, u = self._guess(guess, x0, p)
        if tries > 1:
            p = np.repeat(p, tries, axis=1)
            x, u = self._varied(x, u, p, tries, count(seed, "seed"))
        options: dict[str, Any] = {"iterations": iterations, "tolerance": tolerance}
        options |= {"seconds": seconds, "stay": is_on_gpu(q0)}
        with Progress("solving", iterations, progress, ROUNDS) as bar:
            solver = self._solver(target)
            plans = solver.solve(x, u, p, self._bounds, **options, each=bar.update)
        return Solution(self, plans.cheapest(tries) if tries > 1 else plans, single)

    def _varied(self, x: Array, u: Array, p: Array, tries: int, seed: int) -> tuple[Array, Array]:
        """Each guess, and behind it others with random forces, held for a tenth of the horizon."""
        (N, B, m), held = u.shape, max(1, self.steps // 10)
        low, high = self._bounds.low, self._bounds.high
        random = np.random.Generator(np.random.Philox(seed))
        drawn = random.standard_normal((B * tries, -(-N // held), m))
        drawn[::tries] = 0
        drawn = np.repeat(drawn, held, axis=1)[:, :N].swapaxes(0, 1)
        room = (high - low) / 10
        spread = np.where(np.isfinite(room), room, np.abs(u).max((0, 1)) + 1.0)
        u = np.clip(np.repeat(u, tries, axis=1) + drawn * spread, low, high)
        start = np.repeat(x[0], tries, axis=0)
        moved = self.solver.forward.motions(start, u, p, self._bounds)
        moved[:, ::tries] = x
        return moved, u

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
        guess: Solution | ArrayLike | None = None,
        progress: bool | None = None,
        target: str = "cpu",
    ) -> Solution:
        """Search a motion of little cost by random forces, which needs no slopes.

        The forces of every sample and of every plan are clipped to the limits of the problem.

        Args:
            q0, dq0: as in `Problem.solve`.
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
            seed: of the random numbers, as in `Problem.solve`.
            guess: joint forces of the motors to begin with, shape (steps, m) or (steps, B, m), N m
                or N, or a solution; None: the forces that hold the start against gravity.
            progress: as in `Problem.solve`.
            target: "cpu" or "cuda", which runs the samples on a GPU, in float32 if q0 is.

        Returns:
            The cheapest of the guess and of the plans of all iterations; its gains are zero. It is
            a good guess for `solve`.
        """
        x0, single = self._start(q0, dq0, target)
        B, N, p = len(x0), self.steps, self._data(len(x0))
        search = Search(method, samples, iterations, share, knots, seed)
        if knots is not None and knots > N:
            raise InputError(f"knots is {knots}; expected 2 to {N}, the number of steps.")
        u = self._forces(guess.plans.u if isinstance(guess, Solution) else guess, x0)
        q = x0[:, : self.model.nq]
        T = first_noise(self, noise, q)
        runs, done = sampler(self.transcription, N, knots), itertools.count(1)
        single_precision = target != "cpu" and getattr(q0, "dtype", "") == "float32"
        on = runs.machine(target, "float32" if single_precision else "float64")
        with Progress("sampling", B * search.iterations, progress, ROUNDS) as bar:
            plans = [
                runs.search(on, search, *each, self._bounds, lambda: bar.update(next(done)))
                for each in zip(x0, u.swapaxes(0, 1), T, p.swapaxes(0, 1), strict=True)
            ]
        return Solution(self, together(plans), single)

    @property
    def solver(self) -> Solver:
        """The compiled passes, shared by problems that differ in numbers alone."""
        return self._solver("cpu")

    def _solver(self, target: str) -> Solver:
        """The solver of a target, made at the first request."""
        transcription, limited = self.transcription, self._bounds.any
        key = "solver", target, limited, transcription.key
        return remembered(self.model, key, lambda: Solver(transcription, limited, target))

    def _data(self, B: int) -> Array:
        """The numbers of the stages of B problems, (steps + 1, B, p)."""
        p = self._numbers
        return np.broadcast_to(p, (len(p), B, p.shape[2]))

    @cached_property
    def _bounds(self) -> Bounds:
        """Limits of the motors' forces, or of the controls, (m,) each."""
        return bounds_of_forces(self)

    @cached_property
    def _numbers(self) -> Array:
        """The numbers of the stages as they were given, (steps + 1, 1 or B, p)."""
        B = self.many.count if self.many else 1
        return numbers_of(self.transcription, self.steps, B, self.many)

    def _joint_forces(self, x: Array, u: Array) -> Array:
        """Joint forces, (..., n), of states (..., nx) and of forces or controls (..., m)."""
        if self.controls:
            return forces_of_controls(self.transcription)(x, u)
        tau = np.zeros_like(u, shape=(*u.shape[:-1], self.model.n))
        tau[..., list(self.motors)] = u
        return tau

    def _start(
        self, q0: ArrayLike | None, dq0: ArrayLike | None, target: str = "cpu"
    ) -> tuple[Array, bool]:
        """States (B, nx), and whether a single one was given; arrays may be on the GPU."""
        if target not in TARGETS:
            raise InputError(f"target is {target!r:.60}; expected 'cpu' or 'cuda'.")
        states, counts = list[Array](), list[tuple[int, ...]]()
        counts += [(self.many.count,)] if self.many else []
        rest = start_position(self.model), np.zeros(self.model.n)
        for name, given, still in zip(("q0", "dq0"), (q0, dq0), rest, strict=True):
            if is_on_gpu(given) and target == "cpu":
                raise InputError(
                    f"{name} is on the GPU; expected target='cuda', or cupy.asnumpy(...) of it."
                )
            x = still if given is None else numbers(on_cpu(given), name, "a state")
            if x.ndim not in (1, 2) or x.shape[-1] != still.size or 0 in x.shape:
                raise ShapeError(
                    f"{name} has shape {x.shape}; expected ({still.size},), or (B, {still.size}) "
                    "for at least one start."
                )
            states.append(array(x, x.shape, name))
            counts += [x.shape[:-1]] if x.ndim == 2 else []
        if len({*counts}) > 1:
            raise ShapeError(
                f"q0, dq0 and the problem are for {', '.join(str(x[0]) for x in counts)} starts; "
                "expected the same number, or one."
            )
        check_quaternions(self.model, states[0], "q0", UNIT)
        batch = counts[0] if counts else (1,)
        parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in states]
        check_start(self.model, *parts)
        return np.concatenate([*parts, start_memory(self, parts[0])], axis=1), not counts

    def _guess(self, guess: Any, x0: Array, p: Array) -> tuple[Array, Array]:
        """States and forces to begin with."""
        B, N, m = len(x0), self.steps, len(self.motors)
        if isinstance(guess, Solution):
            x, u = (np.array(on_cpu(a)) for a in (guess.plans.x, guess.plans.u))
            if u.shape != (N, B, m) or x.shape[-1] != x0.shape[-1]:
                raise ShapeError(
                    f"the guess has {u.shape[0]} steps of {counted(u.shape[1], 'problem')}; "
                    f"expected {N} steps of {B}."
                )
            if not (np.isfinite(x).all() and np.isfinite(u).all()):
                raise InputError("the guess has a number that is not finite.")
            x[0] = x0
            return x, u
        u = self._forces(guess, x0)
        x = self.solver.forward.motions(x0, u, p, self._bounds)
        if guess is None:  # a start that falls over is no guess; its gaps close by themselves
            turning = [unit == "rad/s" for unit in units(self.model, "dq")]
            rates = np.abs(x[..., self.model.nq :][..., : self.model.n][..., turning])
            fast = rates.max((0, 2), initial=0) * self.dt >= LARGEST_TURN
            held = np.isfinite(x).all((0, 2)) & ~fast
            x[:, ~held] = x0[~held]
        return x, u

    def _forces(self, guess: ArrayLike | None, x0: Array) -> Array:
        """Forces or controls to begin with, (steps, B, m), within the limits."""
        B, N, m = len(x0), self.steps, len(self.motors)
        if guess is None:
            u = holding(self, x0[:, : self.model.nq])
        else:
            u = checked(on_cpu(guess), "guess", (N, m), (N, B, m)).reshape(N, -1, m)
        return np.clip(np.broadcast_to(u, (N, B, m)), self._bounds.low, self._bounds.high)
