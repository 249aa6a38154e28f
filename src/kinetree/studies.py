"""Studies of many samples: draws of parameters, rollouts and envelopes on any executor.

A sample has the same numbers wherever and beside whichever other samples it is computed: they
depend on the seed, the name of the argument and the number of the sample alone. A study is cut into
parts, which any `concurrent.futures.Executor` computes; with `output` each part is a Parquet file
of a folder, and a study that was interrupted goes on with the parts that are missing.
"""

import dataclasses
import functools
import json
import math
import os
import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from operator import index
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack, cast
from zlib import crc32

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.progress import Progress
from kinetree.core.versions import __version__
from kinetree.dynamics.joints.configuration import random_positions
from kinetree.engine.call.threads import threads
from kinetree.engine.compiler.law import TracedLaw
from kinetree.engine.kernels.free import OF_CONTACTS, check_free, free_ports, free_values, owners
from kinetree.engine.kernels.memo import kernel
from kinetree.engine.kernels.stored import model_hash
from kinetree.errors import InputError, KinetreeWarning, NameLookupError, ShapeError, need
from kinetree.model import HasModel, Model, model_of
from kinetree.model.bounds import bounds_of, with_limits
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinate_axis, dof_axis, link_axis
from kinetree.motion.inputs import positive
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Alignment, Axis, vector_by_name
from kinetree.simulate import signal
from kinetree.simulate.controller import Controller, aligned
from kinetree.simulate.options import FixedMethod, Run
from kinetree.simulate.result import record_rows
from kinetree.simulate.simulation import simulate

__all__ = [
    "Anywhere",
    "Choice",
    "Grid",
    "Noise",
    "Normal",
    "Options",
    "Results",
    "Spread",
    "Uniform",
    "envelope",
    "read",
    "rollouts",
]

POSITIONS, RATES = ("q", "q0"), ("dq", "dq0", "ddq", "tau")
FORCES = ("tau", "F_ext")
AXES = ("x", "y", "z")
PARTS = {  # columns of the data of one link, spring or contact
    "mass": ("",),
    "com": AXES,
    "inertia": tuple(a + b for a in AXES for b in AXES),
    "friction": ("viscous+", "viscous-", "coulomb+", "coulomb-"),
    "springs": ("stiffness", "rest"),
    **dict.fromkeys(OF_CONTACTS, ("",)),
    "F_ext": ("nx", "ny", "nz", "fx", "fy", "fz"),
}
BLOCK = 64  # samples that share a generator: one for each sample would cost as much as its rollout
PART_BYTES = 64 << 20  # that a part may need while it is computed
MOST_PARTS = 64  # of a study on an executor, by default
ABOUT = "study.json"  # file of a folder with results that describes the study
NEVER = ("violated_at", "lost_at")  # columns in which NaN means that it did not happen
SAMPLES = "{task.completed}/{task.total}"  # in a progress bar


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal distribution; mean and standard deviation are numbers or of the argument's shape.

    For positions, `std` belongs to the n degrees of freedom: the robot is moved from `mean` along
    tangent vectors, so that quaternions stay of length 1.

    Args:
        mean: mean, a number or the shape of the argument, (nq,) for positions, in the unit of the
            argument.
        std: standard deviation, a number or the shape of the argument, (n,) for positions, in the
            unit of the argument.
    """

    mean: ArrayLike = 0.0
    std: ArrayLike = 1.0


@dataclass(frozen=True, eq=False)
class Uniform:
    """Uniform distribution from `low` to `high`, each a number or of the argument's shape.

    Args:
        low: lower end, a number or the shape of the argument, such as (n,), in the unit of the
            argument.
        high: upper end, a number or the shape of the argument, such as (n,), in the unit of the
            argument.
    """

    low: ArrayLike = 0.0
    high: ArrayLike = 1.0


@dataclass(frozen=True, eq=False)
class Choice:
    """One of `values`, (k, ...), each with the same probability.

    Args:
        values: the values, shape (k, ...), in the unit of the argument.
    """

    values: ArrayLike


@dataclass(frozen=True, eq=False)
class Grid:
    """Each of `values`, (k, ...), in turn, combined with all points of the other grids.

    Args:
        values: the values, shape (k, ...), in the unit of the argument.
    """

    values: ArrayLike


@dataclass(frozen=True, eq=False)
class Anywhere:
    """Positions within the joint limits, as `Robot.random` draws them."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The robot's own data times a factor from 1 - share to 1 + share, drawn for each link.

    Args:
        share: largest relative change, dimensionless.
    """

    share: float


@dataclass(frozen=True, eq=False)
class Noise:
    """Normally distributed forces with standard deviation `std`, drawn anew every `hold` s.

    Args:
        std: standard deviation, a number or shape (n,) or (l, 6), N m or N.
        hold: time between draws, s.
    """

    std: ArrayLike
    hold: float


Draw: TypeAlias = Normal | Uniform | Choice | Grid | Anywhere | Spread
Force: TypeAlias = ArrayLike | Draw | Noise | TracedLaw


class Options(TypedDict, total=False):
    """Options of every study; only the seed changes the results.

    seed: of the random numbers, 0 by default.
    output: folder for one Parquet file a part; parts that are there from an interrupted study are
        not computed again. None keeps the results in memory.
    executor: any `concurrent.futures.Executor`: local processes, Dask's `client.get_executor()`
        and the like. None computes here, on all cores.
    part: samples that are computed together; None: as many as fit into 64 MB.
    progress: show a bar on the error stream; None shows one on a terminal if the study takes long.
    """

    seed: int
    output: str | os.PathLike[str] | None
    executor: Executor | None
    part: int | None
    progress: bool | None


# the numbers of a sample


def drawn(
    seed: int, stream: str, samples: Array, draw: Callable[[np.random.Generator], Array]
) -> Array:
    """Random numbers of consecutive samples, (S, ...): draw(generator) makes those of a block."""
    first, last = int(samples[0]) // BLOCK, int(samples[-1]) // BLOCK
    name = crc32(stream.encode())
    blocks = [draw(np.random.default_rng([seed, name, b])) for b in range(first, last + 1)]
    return np.concatenate(blocks)[samples - first * BLOCK]


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments of a study by name, for any samples.

    values: arrays of the argument's shape, and draws of them. own: data of the robot that vary.
    repeats: samples at every point of the grids.
    """

    model: Model
    seed: int
    repeats: int
    values: Mapping[str, Array | Draw]
    shapes: Mapping[str, tuple[int, ...]]
    own: Mapping[str, Array]

    @property
    def grids(self) -> dict[str, int]:
        """Number of values of every grid."""
        return {
            name: len(np.asarray(x.values))
            for name, x in self.values.items()
            if isinstance(x, Grid)
        }

    @property
    def drawn(self) -> list[str]:
        """Names of the arguments that differ between samples."""
        return [name for name, value in self.values.items() if isinstance(value, Draw)]

    @property
    def columns(self) -> list[str]:
        """Column names of the arguments that differ between samples."""
        return [x for name in self.drawn for x in columns_of(self.model, name)]

    def of(self, samples: Array) -> dict[str, Array]:
        """Values of all arguments, each (S, *shape)."""
        return {name: self._values(name, samples) for name in self.values}

    def table(self, samples: Array) -> list[Array]:
        """The drawn values, each (S, size)."""
        return [self._values(name, samples).reshape(len(samples), -1) for name in self.drawn]

    def _values(self, name: str, samples: Array) -> Array:
        value, shape = self.values[name], self.shapes[name]
        of = functools.partial(drawn, self.seed, name, samples)
        match value:
            case Normal(mean, std):
                if name in POSITIONS:
                    v = std * of(lambda rng: rng.normal(size=(BLOCK, self.model.n)))
                    q = np.broadcast_to(np.asarray(mean), (len(samples), self.model.nq))
                    return moved(self.model, q, v)
                return mean + std * of(lambda rng: rng.normal(size=(BLOCK, *shape)))
            case Uniform(low, high):
                share = of(lambda rng: rng.random((BLOCK, *shape)))
                return low + (np.asarray(high) - low) * share
            case Choice(values):
                x = np.asarray(values)
                return x[of(lambda rng: rng.integers(len(x), size=BLOCK))]
            case Grid(values):
                point = np.unravel_index(samples // self.repeats, tuple(self.grids.values()))
                return np.asarray(values)[point[list(self.grids).index(name)]]
            case Anywhere():
                return of(lambda rng: random_positions(self.model, rng, BLOCK))
            case Spread(share):
                data = self.own[name]
                lead = () if name == "gravity" else data.shape[:1]
                u = of(lambda rng: rng.uniform(-1, 1, (BLOCK, *lead)))
                return data * (1 + share * u.reshape(*u.shape, *(1,) * (data.ndim - len(lead))))
            case _:
                return np.broadcast_to(value, (len(samples), *shape))


def moved(model: Model, q: Array, v: Array) -> Array:
    """Positions (S, nq) moved along tangent vectors (S, n)."""
    if model.nq == model.n:
        return q + v
    return np.array([dynamics.integrate(model, *row) for row in zip(q, v, strict=True)], float)


# arguments as they are given


def read_arguments(
    model: Model,
    seed: int,
    repeats: int,
    values: Mapping[str, ArrayLike | Draw],
    shapes: Mapping[str, tuple[int, ...]],
    parameters: Mapping[str, ArrayLike | Draw] | None,
) -> Arguments:
    """The arguments of a study, checked and in the order of the robot."""
    given = dict(parameters or {})
    own = {port.name: free_values(model, port.name) for port in free_ports(model, tuple(given))}
    shapes = {**shapes, **{name: x.shape for name, x in own.items()}}
    checked = {
        name: _checked(model, name, _by_joint(model, name, x), shapes[name], name in own)
        for name, x in {**values, **given}.items()
    }
    for name in own:
        value = checked[name]
        if isinstance(value, np.ndarray | Choice | Grid):  # simulate checks the others
            check_free(model, name, np.asarray(getattr(value, "values", value), float))
    return Arguments(model, seed, repeats, checked, shapes, own)


def _by_joint(model: Model, name: str, value: Any) -> Any:
    """An argument with labelled arrays in it put into the order of the robot."""
    axis = _axis(model, name)
    if not isinstance(value, Normal | Uniform | Choice | Grid | Noise):
        return Alignment([(value, axis, name)]).values[0]
    parts = [x.name for x in fields(value) if x.name != "hold"]
    axes = [dof_axis(model) if x == "std" and name in POSITIONS else axis for x in parts]
    labelled = [
        (getattr(value, part), at, f"{part} of {name}")
        for part, at in zip(parts, axes, strict=True)
    ]
    return replace(value, **dict(zip(parts, Alignment(labelled).values, strict=True)))


def _axis(model: Model, name: str) -> Axis | None:
    """The names along an argument; None if it has none, or several axes."""
    if name in POSITIONS:
        return coordinate_axis(model)
    if name in RATES:
        return dof_axis(model)
    return link_axis(model) if name == "mass" else None


def _checked(model: Model, name: str, value: Any, shape: tuple[int, ...], own: bool) -> Any:
    """An argument with arrays of the right shapes in it."""
    where = f"{name} of the study"
    match value:
        case Normal():
            std = _array(value.std, (model.n,) if name in POSITIONS else shape, f"std of {where}")
            if (std < 0).any():
                raise InputError(f"std of {where} is {std.tolist()}; expected 0 or more.")
            return Normal(_array(value.mean, shape, f"mean of {where}"), std)
        case Uniform():
            low, high = (_array(x, shape, f"range of {where}") for x in (value.low, value.high))
            if (low > high).any():
                raise InputError(f"low of {where} is above high; exchange them.")
            return Uniform(low, high)
        case Choice() | Grid():
            x = np.asarray(value.values, float)
            if x.ndim == 0 or not len(x):
                raise ShapeError(f"values of {where} have shape {x.shape}; expected (k, ...).")
            return type(value)(np.array([_array(v, shape, f"value of {where}") for v in x]))
        case Anywhere():
            if name not in POSITIONS:
                raise InputError(f"{where} is Anywhere(), which is for positions; use Uniform.")
            return value
        case Spread():
            if not own:
                raise InputError(f"{where} is a Spread, which is only for data of the robot.")
            if not 0 <= value.share < 1:
                raise InputError(f"share of {where} is {value.share}; expected 0 <= share < 1.")
            return value
        case _:
            return _array(value, shape, where)


def _array(value: ArrayLike, shape: tuple[int, ...], where: str) -> Array:
    """`value` broadcast to `shape`: a number, or an array of the shape or of its last axes."""
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(
            f"{where} is {value!r:.80}; expected numbers, or a distribution such as Normal()."
        ) from None
    if x.shape != shape[len(shape) - x.ndim :] or x.ndim > len(shape):
        raise ShapeError(f"{where} has shape {x.shape}; expected a number or shape {shape}.")
    if not np.isfinite(x).all():
        raise InputError(f"{where} is {x.tolist()}; expected finite numbers.")
    return np.broadcast_to(x, shape)


def columns_of(model: Model, name: str) -> list[str]:
    """Column names of an argument in the order of its entries: `q:elbow`, `F_ext.fz:tool`."""
    if name in POSITIONS:
        return [f"{name}:{x}" for x in model.coordinate_names]
    if name in RATES:
        return [f"{name}:{x}" for x in model.dof_names]
    if name == "gravity":
        return [f"gravity:{x}" for x in AXES]
    parts = [f".{x}" if x else "" for x in PARTS[name]]
    return [f"{name}{part}:{owner}" for owner in owners(model, name) for part in parts]


# rollouts


def rollouts(
    robot: Model | HasModel,
    n: int,
    *,
    q0: ArrayLike | Draw,
    dq0: ArrayLike | Draw = 0.0,
    duration: float,
    dt: float = 1e-3,
    method: FixedMethod | None = None,
    tau: Force | None = None,
    F_ext: Force | None = None,
    controller: Controller | TracedLaw | None = None,
    parameters: Mapping[str, ArrayLike | Draw] | None = None,
    every: int | None = None,
    **options: Unpack[Options],
) -> "Results":
    """Simulations from random states, of random robots, under random forces.

    Any of q0 (nq,), dq0 (n,), tau (n,), F_ext (links, 6) and `parameters` may be a number or array,
    or `Normal`, `Uniform`, `Choice`, `Grid`; positions also `Anywhere`, parameters `Spread`, and
    forces `Noise`, which changes with time, or a law, `kinetree.simulate.law(f, robot)`.

    Args:
        robot: the robot.
        n: rollouts for every point of the grids.
        q0: positions at the start, shape (nq,), rad or m, or a distribution such as `Normal` or
            `Anywhere`.
        dq0: rates at the start, a number or shape (n,), rad/s or m/s, or a distribution such as
            `Normal`.
        duration, dt: of the motion and of its steps, s.
        method: as in `Robot.simulate`; None: "rk4", with contacts "time_stepping".
        tau: joint forces besides those of the controller, a number or shape (n,), N m or N, or a
            distribution such as `Normal` or `Noise`, or `kinetree.simulate.law(f, robot)`; None:
            none.
        F_ext: wrenches onto the links in their frames, shape (l, 6), N m and N, or a distribution
            such as `Normal` or `Noise`, or `kinetree.simulate.law(f, robot)`; None: no wrench.
        controller: as in `Robot.simulate`; processes need one that can be pickled, such as those of
            `kinetree.controllers` or `kinetree.simulate.law(f, robot)`.
        parameters: robot data that vary, with names, shapes and units as `free` of `Robot.compile`,
            or distributions of them; None: those of the robot.
        every: number of steps from one recorded row to the next; None records one row for each
            rollout: the drawn values, q and dq at the end, peak_dq, peak_tau, violated_at (the time
            when a joint limit was first exceeded, s) and lost_at (when a number stopped being
            finite); NaN for never. After lost_at the numbers of a rollout's motion are NaN. A
            rollout that leaves its limits goes on, as with simulate(limits="record"): one of a
            million must not end the others.
        options: see `kinetree.studies.Options`.
    """
    settings: dict[str, Any] = {
        "q0": q0,
        "dq0": dq0,
        "duration": duration,
        "dt": dt,
        "method": method,
        "tau": tau,
        "F_ext": F_ext,
        "controller": controller,
        "parameters": parameters,
        "every": every,
    }
    seed = _whole(options.get("seed", 0), "seed", 0)
    study = RolloutStudy.of(model_of(robot), seed, _whole(n, "n", 1), **settings)
    return run_study("rollouts", study, settings, options)


@dataclass(frozen=True, eq=False)
class RolloutStudy:
    """Simulations of any samples; a rollout has the same bits in every batch."""

    arguments: Arguments
    noise: Mapping[str, Noise]
    fixed: Mapping[str, Any]  # options of `simulate` that all samples share
    every: int | None

    @classmethod
    def of(
        cls,
        model: Model,
        seed: int,
        repeats: int,
        *,
        parameters: Mapping[str, ArrayLike | Draw] | None,
        controller: Any,
        method: FixedMethod | None,
        duration: float,
        dt: float,
        every: int | None,
        **varied: Any,
    ) -> "RolloutStudy":
        """The study of a robot from its settings."""
        shapes = {
            "q0": (model.nq,),
            "dq0": (model.n,),
            "tau": (model.n,),
            "F_ext": (len(model.links), 6),
        }
        laws = {name: varied[name] for name in FORCES if isinstance(varied[name], TracedLaw)}
        noise = {
            name: _read_noise(name, _by_joint(model, name, x), shapes[name])
            for name, x in varied.items()
            if isinstance(x, Noise)
        }
        values: dict[str, Any] = {
            name: x
            for name, x in varied.items()
            if name not in {*laws, *noise} and not (x is None and name in FORCES)
        }
        arguments = read_arguments(model, seed, repeats, values, shapes, parameters)
        fixed = {
            "duration": duration,
            "dt": dt,
            "method": method,
            "controller": aligned(controller, model),
            **laws,
        }
        return cls(arguments, noise, fixed, None if every is None else _whole(every, "every", 1))

    @functools.cached_property
    def times(self) -> Array:
        """Times of the steps."""
        how = {name: self.fixed[name] for name in ("duration", "dt", "method")}
        run = Run(model=self.arguments.model, q0=np.zeros(self.arguments.model.nq), **how)
        _ = run.fixed  # an unknown method is refused
        return run.times

    @property
    def rows(self) -> int:
        """Recorded times of each rollout."""
        return 1 if self.every is None else len(record_rows(len(self.times), self.every)[1])

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        q, dq, tau = (columns_of(self.arguments.model, name) for name in ("q", "dq", "tau"))
        if self.every is not None:
            return ["t", *q, *dq, *tau]
        return [*self.arguments.columns, *q, *dq, *(f"peak_{x}" for x in (*dq, *tau)), *NEVER]

    @property
    def size(self) -> int:
        """Bytes that a rollout needs."""
        model, times = self.arguments.model, len(self.times)
        recorded = times if self.every is None else self.rows
        drawn = sum(
            self._holds(x) * math.prod(self.arguments.shapes[name])
            for name, x in self.noise.items()
        )
        return 8 * (recorded * (model.nq + 3 * model.n) + self.rows * len(self.columns) + drawn)

    def compute(self, samples: Array) -> Array:
        """Rows of consecutive samples, (S, rows, columns)."""
        values: dict[str, Any] = self.arguments.of(samples)
        parameters = {name: values.pop(name) for name in self.arguments.own}
        values |= {name: self._noise(name, x, samples) for name, x in self.noise.items()}
        run = Run(
            model=self.arguments.model,
            parameters=parameters,
            every=self.every,
            limits="record",
            progress=False,
            **values,
            **self.fixed,
        )
        motion = cast("Trajectory", simulate(run))
        assert motion.tau is not None
        if self.every is None:
            return self._summary(samples, motion)[:, None]
        t = np.broadcast_to(motion.t[:, None, None], (*motion.q.shape[:2], 1))
        states = np.concatenate([motion.q, motion.dq, motion.tau], -1)
        states[self._lost(motion)] = np.nan
        return np.concatenate([t, states], -1).swapaxes(0, 1)

    def _lost(self, motion: Trajectory) -> Array:
        """True in the rows (T, S) after a rollout's end, which `simulate` repeats or clears.

        A state that is not finite comes from an acceleration one step before.
        """
        ends = np.full(motion.q.shape[1], np.inf)
        for v in reversed(motion.meta["violations"]):
            if v.by is None:
                ends[v.rollout[0]] = v.t
        return motion.t[:, None] > ends - 1.5 * self.fixed["dt"]

    def _summary(self, samples: Array, motion: Trajectory) -> Array:
        """One row for each rollout, (S, columns)."""
        noted = np.full((len(samples), 2), np.nan)
        for v in reversed(motion.meta["violations"]):  # the earliest is written last
            noted[v.rollout[0], 0 if v.by is not None else 1] = v.t
        peaks = [np.abs(np.asarray(x)).max(axis=0) for x in (motion.dq, motion.tau)]
        numbers = np.concatenate([motion.q[-1], motion.dq[-1], *peaks], -1)
        numbers[self._lost(motion)[-1]] = np.nan
        return np.concatenate([*self.arguments.table(samples), numbers, noted], -1)

    def _noise(self, name: str, noise: Noise, samples: Array) -> Any:
        """Random forces over time, each constant for `hold` s: a signal for `simulate`."""
        count, shape = self._holds(noise), self.arguments.shapes[name]
        z = drawn(
            self.arguments.seed, name, samples, lambda rng: rng.normal(size=(BLOCK, count, *shape))
        )
        values = np.asarray(noise.std) * z
        return signal(np.arange(count) * noise.hold, values.swapaxes(0, 1), "hold")

    def _holds(self, noise: Noise) -> int:
        """Number of values of a random force; 1.0 s / 0.1 s are 10 despite rounding errors."""
        return max(1, math.ceil(float(self.times[-1]) / noise.hold * (1 - 1e-12)))


def _read_noise(name: str, noise: Noise, shape: tuple[int, ...]) -> Noise:
    """Check a random force."""
    if name not in FORCES:
        raise InputError(f"{name} is Noise, which is for tau and F_ext; use Normal.")
    positive(noise.hold, f"hold of the noise of {name}", "s")
    std = _array(noise.std, shape, f"std of the noise of {name}")
    if (std < 0).any():
        raise InputError(f"std of the noise of {name} is {std.tolist()}; expected 0 or more.")
    return Noise(std, noise.hold)


# envelopes


def envelope(
    robot: Model | HasModel,
    n: int,
    *,
    q: ArrayLike | Draw | None = None,
    frame: str | None = None,
    effort: ArrayLike | None = None,
    parameters: Mapping[str, ArrayLike | Draw] | None = None,
    **options: Unpack[Options],
) -> "Results":
    """Loads that the drives can hold, carry and push at rest, over the workspace or many robots.

    At rest, tau = g(q) + J_v^T f balances the robot's weight while its tool pushes with the force
    f; with |tau_j| <= e_j, the effort limits (g has the forces of springs too):

        holding = max_j |g_j| / e_j                    share of the drives that its own weight takes
        payload = max m with |g - m J_v^T gravity| <= e       kg, a point mass at the frame's origin
        force   = min_j (e_j - |g_j|) / |column j of J_v|     N, pushed in any direction

    Args:
        robot: the robot.
        n: samples for every point of the grids.
        q: positions, shape (nq,), rad or m, or a distribution such as `Normal`; None: anywhere
            within the limits.
        frame: where the load is; the tool when None.
        effort: limits of the drives, a number or (n,), instead of those of the robot, N m or N.
        parameters: robot data that vary, as in `rollouts`.
        options: see `kinetree.studies.Options`.

    Returns:
        The drawn values, the position p of the frame in {s}, m, and: holding, the largest share of
        an effort limit that the robot's own weight takes; payload, the largest point mass at the
        frame, kg; force, the largest force there that can be pushed in every direction, N.
    """
    model = model_of(robot)
    without_constraints(model, "envelope")
    settings = {"q": q, "frame": frame, "effort": effort, "parameters": parameters}
    given = {"q": Anywhere() if q is None else q}
    seed, n = _whole(options.get("seed", 0), "seed", 0), _whole(n, "n", 1)
    arguments = read_arguments(model, seed, n, given, {"q": (model.nq,)}, parameters)
    limits = vector_by_name(effort, dof_axis(model), "effort")
    most = np.asarray(with_limits(bounds_of(model), effort=limits).effort, float)
    if not np.isfinite(most).any():
        raise InputError(
            f"{model.name!r} has no effort limits, so nothing bounds what it can hold; give "
            f"effort=, a number or ({model.n},), N m or N."
        )
    study = EnvelopeStudy(arguments, frame, most)
    return run_study("envelope", study, settings, options)


@dataclass(frozen=True, eq=False)
class EnvelopeStudy:
    """One row for each sample: the drawn values, the frame's position, and the three limits."""

    arguments: Arguments
    frame: str | None
    effort: Array
    rows: int = 1

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        position = [f"p:{x}" for x in AXES]
        return [*self.arguments.columns, *position, "holding", "payload", "force"]

    @property
    def size(self) -> int:
        """Bytes that a sample needs."""
        return 8 * (2 * len(self.columns) + 10 * self.arguments.model.n + 64)

    def compute(self, samples: Array) -> Array:
        """Rows of the samples, (S, 1, columns)."""
        model, x = self.arguments.model, self.arguments.of(samples)
        q, free = x["q"], tuple(self.arguments.own)
        data = [x[name] for name in free]
        g = kernel(model, "gravity_forces", free=free)(q, *data)
        if model.springs:
            g = g + kernel(model, "spring_forces", free=free)(q, *data)
        T_sb, J_b = (kernel(model, k, frame=self.frame)(q) for k in ("pose", "body_jacobian"))
        J_v = T_sb[:, :3, :3] @ J_b[:, 3:]
        weight = x.get("gravity", np.asarray(model.gravity[3:], float))  # of 1 kg, in {s}
        per_kg = -(J_v * np.reshape(weight, (-1, 3, 1))).sum(1)
        lengths = np.sqrt((J_v * J_v).sum(1))
        holding = (np.abs(g) / self.effort).max(-1)
        room = np.where(per_kg >= 0, self.effort - g, self.effort + g)
        payload = _smallest(np.maximum(room, 0), np.abs(per_kg))
        payload = np.where((np.abs(g) <= self.effort).all(-1), payload, 0.0)
        force = _smallest(np.maximum(self.effort - np.abs(g), 0), lengths)
        limits = np.stack([holding, payload, force], -1)
        return np.concatenate([*self.arguments.table(samples), T_sb[:, :3, 3], limits], -1)[:, None]


def _smallest(room: Array, needed: Array) -> Array:
    """The smallest room / needed of the joints; infinite where nothing is needed."""
    shares = np.divide(room, needed, out=np.full(room.shape, np.inf), where=needed > 0)
    return shares.min(axis=-1)


Study: TypeAlias = RolloutStudy | EnvelopeStudy


# running a study


def run_study(name: str, study: Study, settings: Mapping[str, Any], options: Options) -> "Results":
    """All samples of a study, part by part; parts that are in the folder already are kept."""
    if unknown := set(options) - set(Options.__annotations__):
        known = ", ".join(Options.__annotations__)
        raise InputError(f"{name} has no option {', '.join(sorted(unknown))}; it has {known}.")
    output, executor, part = (options.get(x) for x in ("output", "executor", "part"))
    arguments, folder = study.arguments, None if output is None else Path(output)
    samples = arguments.repeats * math.prod(arguments.grids.values())
    meta: dict[str, Any] = {
        "kinetree": __version__,
        "study": name,
        "robot": arguments.model.name,
        "settings_sha256": sha256(fingerprint([arguments.model, settings]).encode()).hexdigest(),
        "seed": arguments.seed,
        "samples": samples,
        "rows": study.rows,
        "part": _part(part, study, samples, executor),
        "columns": ["sample", *study.columns],
    }
    if folder is not None:
        meta["part"] = begin(folder, meta, part)
    size = meta["part"]
    parts = [np.arange(k, min(k + size, samples)) for k in range(0, samples, size)]
    missing = [x for x in parts if folder is None or not part_file(folder, x[0] // size).exists()]
    found, done = dict[int, Array](), samples - sum(map(len, missing))
    with Progress(
        f"{name} of {arguments.model.name}", samples, options.get("progress"), SAMPLES
    ) as bar:
        for at, numbers in computed(study, missing, executor):
            if folder is None:
                found[int(at[0])] = numbers
            else:
                write(part_file(folder, at[0] // size), meta["columns"], at, numbers)
            done += len(at)
            bar.update(done)
    if folder is not None:
        return read(folder)
    columns, count = tuple(meta["columns"]), len(study.columns)
    numbers = np.concatenate([found[int(x[0])] for x in parts]).reshape(-1, count)
    table = {name: x for name, x in zip(columns[1:], numbers.T, strict=True)}
    table = {"sample": np.repeat(np.arange(samples), study.rows), **table}
    return Results(columns, samples, study.rows, meta, table=table)


def computed(
    study: Study, parts: Sequence[Array], executor: Executor | None
) -> Iterator[tuple[Array, Array]]:
    """The samples of each part and their rows, in the order in which they become ready."""
    if executor is None:
        for samples in parts:
            yield samples, study.compute(samples)
        return
    try:
        packed = __version__.encode() + b"\n" + pickle.dumps(study)
    except Exception as problem:
        raise InputError(
            f"the study cannot be sent to the workers of an executor: {problem} Make a law a value "
            "with kinetree.simulate.law(f, robot), and sample a function of time into a Trajectory."
        ) from problem
    futures = {executor.submit(run_part, packed, int(x[0]), len(x)): x for x in parts}
    try:
        for future in as_completed(list(futures)):
            yield futures.pop(future), future.result()
    finally:
        for future in futures:
            future.cancel()


def run_part(packed: bytes, first: int, count: int) -> Array:
    """Rows of the samples first, first + 1, ..., computed by a worker on one core."""
    with threads(1):  # cores are shared out among workers, not within a part
        return _unpacked(packed).compute(np.arange(first, first + count))


@functools.lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> Study:
    """The study, once in each process: its kernels are compiled for this copy of the robot."""
    sender, _, data = packed.partition(b"\n")
    if sender.decode() != __version__:
        raise InputError(
            f"a worker has kinetree {__version__}, the study comes from {sender.decode()}; "
            "expected the same. Install it on every machine."
        )
    return pickle.loads(data)


def _part(given: int | None, study: Study, samples: int, executor: Executor | None) -> int:
    """Samples in a part: as many as fit into memory, and enough parts for the workers."""
    if given is not None:
        return _whole(given, "part", 1)
    fitting = max(1, PART_BYTES // study.size)
    return fitting if executor is None else min(fitting, max(BLOCK, -(-samples // MOST_PARTS)))


def fingerprint(value: Any) -> str:
    """A text that is equal for equal settings; functions count by their names."""
    match value:
        case Model():
            names = value.name, value.base_name, value.link_names
            return f"{model_hash(value)}{names}{[x.limits for x in value.joints]}"
        case TracedLaw():
            return value.digest
        case Trajectory():
            return fingerprint([value.t, value.q, value.dq, value.ddq])
        case Mapping():
            return str({str(k): fingerprint(x) for k, x in value.items()})
        case list() | tuple():
            return str([fingerprint(x) for x in value])
        case np.ndarray():
            return f"{value.shape}{value.dtype}{value.tobytes().hex()}"
        case _ if dataclasses.is_dataclass(value):
            parts = {x.name: getattr(value, x.name) for x in fields(value) if x.init}
            return f"{type(value).__name__}{fingerprint(parts)}"
        case _ if isinstance(getattr(value, "model", None), Model):  # a Robot
            return fingerprint(value.model)
        case _ if callable(value):
            return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__name__)}"
        case _:
            return repr(value)


def _whole(value: object, name: str, least: int) -> int:
    """`value` as an integer; InputError unless it is whole and not below `least`."""
    try:
        number = -1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not least <= number < 2**63:
        raise InputError(f"{name} is {value!r}; expected a whole number, {least} or more.")
    return number


# files


def begin(folder: Path, meta: Mapping[str, Any], part: int | None) -> int:
    """Describe the study in its folder, or check that it is the one begun there; its part size."""
    need("pyarrow.parquet", "parquet", "writing results of a study")
    about = folder / ABOUT
    if not about.exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} has no study in it; expected a new or an empty folder.")
        folder.mkdir(parents=True, exist_ok=True)
        _replace(about, lambda path: path.write_text(json.dumps(meta, indent=1)))
        return meta["part"]
    former = _about(folder)
    names = [k for k in meta if k != "part" or part is not None]
    other = [name for name in names if former.get(name) != meta[name]]
    if other:
        raise InputError(
            f"{folder} has a study with another {', '.join(other)}; give another folder, or the "
            "same arguments to go on with it."
        )
    return former["part"]


def _about(folder: Path) -> dict[str, Any]:
    """The description of the study in a folder."""
    try:
        about = json.loads((folder / ABOUT).read_text("utf8"))
        columns, counts = about["columns"], [about[k] for k in ("samples", "rows", "part")]
        if all(isinstance(x, str) for x in columns) and all(_whole(x, "", 1) for x in counts):
            return about
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{folder} is not the folder of a study: it has no readable {ABOUT}.")


def part_file(folder: Path, number: int) -> Path:
    """The file of a part."""
    return folder / f"part-{int(number):06d}.parquet"


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under another name first: one that has its name is complete."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    write(unfinished)
    os.replace(unfinished, path)


def write(path: Path, columns: Sequence[str], samples: Array, numbers: Array) -> None:
    """Write the rows (S, rows, columns) of a part."""
    arrow, parquet = (need(x, "parquet", "writing results") for x in ("pyarrow", "pyarrow.parquet"))
    table = [np.repeat(samples, numbers.shape[1]), *numbers.reshape(-1, numbers.shape[-1]).T]
    packed = arrow.table(dict(zip(columns, map(np.ascontiguousarray, table), strict=True)))
    _replace(path, lambda unfinished: parquet.write_table(packed, unfinished))


def read(folder: str | os.PathLike[str]) -> "Results":
    """The results of a study from its folder.

    Args:
        folder: path of the folder.
    """
    path = Path(folder)
    about = _about(path)
    count = -(-about["samples"] // about["part"])
    there = sum(x.is_file() for x in path.glob("part-*.parquet"))
    if there != count:
        raise InputError(
            f"{path} has {there} of {count} parts; give the study the same output "
            "again to compute the others."
        )
    return Results(tuple(about["columns"]), about["samples"], about["rows"], about, path)


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Samples of a study: `results["q"]` is (samples, nq), or (samples, rows, nq).

    Args:
        columns: names of the columns of the table.
        samples: number of samples.
        rows: number of rows for each sample.
        meta: description of the study: version, robot, hash of the settings, seed.
        path: the folder; None: `table` is in memory.
        table: {column: (samples * rows,)}, in the units of its columns; None: it is in the folder.
    """

    columns: tuple[str, ...]
    samples: int
    rows: int
    meta: Mapping[str, Any]
    path: Path | None = None
    table: Mapping[str, Array] | None = None

    def __getitem__(self, name: str) -> Array:
        """A column, or all columns of a group side by side along a last axis."""
        shape = (self.samples,) if self.rows == 1 else (self.samples, self.rows)
        parts = [x.reshape(shape) for x in self._read(self.group(name))]
        return parts[0] if name in self.columns else np.stack(parts, axis=-1)

    def group(self, name: str) -> list[str]:
        """The columns `name`, or `name:...` and `name.part:...`.

        Args:
            name: name of a column or group.
        """
        if name in self.columns:
            return [name]
        columns = [x for x in self.columns if x.startswith((f"{name}:", f"{name}."))]
        if not columns:
            groups = dict.fromkeys(re.split(r"[:.]", x)[0] for x in self.columns)
            raise NameLookupError(
                f"the study has no column {name!r}; it has {', '.join(groups)}, "
                f"such as {self.columns[-1]!r}."
            )
        return columns

    def quantiles(self, name: str, p: ArrayLike = (0.05, 0.5, 0.95)) -> Array:
        """Values that a share p of the samples does not exceed, (len(p), ...).

        NaN is left out; unless it means "never", a warning gives the number of samples with one.

        Args:
            name: name of a column or group.
            p: shares, shape (k,), dimensionless, 0 to 1.
        """
        share = np.asarray(p, float)
        if not ((share >= 0) & (share <= 1)).all():
            raise InputError(f"p is {p!r}; expected shares between 0 and 1.")
        x = self[name]
        lost = np.isnan(x).reshape(len(x), -1).any(axis=1).sum()
        if lost and name not in NEVER:
            warnings.warn(
                f"{lost} of {self.samples} samples have NaN somewhere in {name!r} and are left out "
                "of its quantiles there; results.lost() lists them.",
                KinetreeWarning,
                stacklevel=2,
            )
        with warnings.catch_warnings():  # a column without numbers
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.nanquantile(x, share, axis=0)

    def lost(self, names: str | Sequence[str] | None = None) -> Array:
        """Numbers of the samples with NaN in any of the columns or groups `names`, (k,).

        Such as rollouts that diverged. Times that are NaN because something never happened do not
        count, and neither do infinite values.

        Args:
            names: columns or groups; None: all.
        """
        lost = np.zeros(self.samples, bool)
        for name, x in zip(chosen := self._chosen(names), self._read(chosen), strict=True):
            if name not in NEVER:
                lost |= np.isnan(x).reshape(self.samples, -1).any(axis=1)
        return np.flatnonzero(lost)

    def _chosen(self, names: str | Sequence[str] | None) -> list[str]:
        if names is None:
            return list(self.columns)
        return [x for n in ([names] if isinstance(names, str) else names) for x in self.group(n)]

    def _headline(self) -> str:
        rows = f" of {self.rows} rows" if self.rows > 1 else ""
        place = f", in {self.path.name}" if self.path is not None else ""
        what = f"{self.meta['study']} of {self.meta['robot']}"
        return f"{what}: {self.samples} samples{rows}, seed {self.meta['seed']}{place}"

    def _read(self, names: Sequence[str]) -> list[Array]:
        if self.table is not None:
            return [self.table[name] for name in names]
        assert self.path is not None
        parquet = need("pyarrow.parquet", "parquet", f"reading {self.path.name}")
        count = -(-self.samples // self.meta["part"])
        files = [parquet.ParquetFile(part_file(self.path, k)) for k in range(count)]
        parts = [file.read(columns=list(names)) for file in files]
        columns = [np.concatenate([x.column(n).to_numpy() for x in parts]) for n in names]
        expected = self.samples * self.rows
        if any(len(x) != expected for x in columns):
            raise InputError(f"{self.path} has other than {expected} rows; compute it again.")
        return columns

    def __repr__(self) -> str:
        return f"Results({self._headline()}; columns: {', '.join(self.columns[:8])}, ...)"
