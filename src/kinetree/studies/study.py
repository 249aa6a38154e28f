"""Rollouts and envelopes of many samples, in parts that any executor computes.

A study is cut into parts, which any `concurrent.futures.Executor` computes; with `output` each part
is a Parquet file of a folder, and a study that was interrupted goes on with the missing parts.
"""

import dataclasses
import functools
import math
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack, cast

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.progress import Progress
from kinetree.core.versions import __version__
from kinetree.engine.call.threads import threads
from kinetree.engine.compiler.law import TracedLaw
from kinetree.engine.kernels.memo import kernel
from kinetree.engine.kernels.stored import model_hash
from kinetree.errors import InputError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.bounds import bounds_of, with_limits
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import dof_axis
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import vector_by_name
from kinetree.simulate import signal
from kinetree.simulate.controller import Controller, aligned
from kinetree.simulate.options import FixedMethod, Run
from kinetree.simulate.result import record_rows
from kinetree.simulate.simulation import simulate
from kinetree.studies import draws
from kinetree.studies.results import NEVER, Results, begin, part_file, read, write_part

PART_BYTES = 64 << 20  # that a part may need while it is computed
MOST_PARTS = 64  # of a study on an executor, by default
SAMPLES = "{task.completed}/{task.total}"  # in a progress bar


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


def rollouts(
    robot: Model | HasModel,
    n: int,
    *,
    q0: ArrayLike | draws.Draw,
    dq0: ArrayLike | draws.Draw = 0.0,
    duration: float,
    dt: float = 1e-3,
    method: FixedMethod | None = None,
    tau: draws.Force | None = None,
    F_ext: draws.Force | None = None,
    controller: Controller | TracedLaw | None = None,
    parameters: Mapping[str, ArrayLike | draws.Draw] | None = None,
    every: int | None = None,
    **options: Unpack[Options],
) -> Results:
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
    model = model_of(robot)
    rates, wrenches = (model.n,), (len(model.links), 6)
    shapes = {"q0": (model.nq,), "dq0": rates, "tau": rates, "F_ext": wrenches}
    given: dict[str, Any] = {"q0": q0, "dq0": dq0, "tau": tau, "F_ext": F_ext}
    given = {name: x for name, x in given.items() if x is not None}
    laws = {name: x for name, x in given.items() if isinstance(x, TracedLaw)}
    noise = {
        k: draws.read_noise(model, k, x, shapes[k])
        for k, x in given.items()
        if isinstance(x, draws.Noise)
    }
    values = {name: x for name, x in given.items() if name not in {*laws, *noise}}
    arguments = draws.read_arguments(model, options.get("seed", 0), n, values, shapes, parameters)
    fixed = {"duration": duration, "dt": dt, "method": method, **laws}
    fixed["controller"] = aligned(controller, model)
    stride = None if every is None else draws.some(every, "every")
    study = RolloutStudy(arguments, noise, fixed, stride)
    return run_study("rollouts", study, options)


@dataclass(frozen=True, eq=False)
class RolloutStudy:
    """Simulations of any samples; a rollout has the same bits in every batch."""

    arguments: draws.Arguments
    noise: Mapping[str, draws.Noise]
    fixed: Mapping[str, Any]  # options of `simulate` that all samples share
    every: int | None

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
        q, dq, tau = (draws.columns_of(self.arguments.model, name) for name in ("q", "dq", "tau"))
        if self.every is not None:
            return ["t", *q, *dq, *tau]
        return [*self.arguments.columns, *q, *dq, *(f"peak_{x}" for x in (*dq, *tau)), *NEVER]

    @property
    def size(self) -> int:
        """Bytes that a rollout needs."""
        model, shapes = self.arguments.model, self.arguments.shapes
        recorded = len(self.times) if self.every is None else self.rows
        forces = sum(self._holds(x) * math.prod(shapes[k]) for k, x in self.noise.items())
        return 8 * (recorded * (model.nq + 3 * model.n) + self.rows * len(self.columns) + forces)

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
        ends = np.nan_to_num(_noted(motion)[:, 1], nan=np.inf)
        return motion.t[:, None] > ends - 1.5 * self.fixed["dt"]

    def _summary(self, samples: Array, motion: Trajectory) -> Array:
        """One row for each rollout, (S, columns)."""
        peaks = [np.abs(np.asarray(x)).max(axis=0) for x in (motion.dq, motion.tau)]
        numbers = np.concatenate([motion.q[-1], motion.dq[-1], *peaks], -1)
        numbers[self._lost(motion)[-1]] = np.nan
        return np.concatenate([*self.arguments.table(samples), numbers, _noted(motion)], -1)

    def _noise(self, name: str, noise: draws.Noise, samples: Array) -> Any:
        """Random forces over time, each constant for `hold` s: a signal for `simulate`."""
        count, shape = self._holds(noise), self.arguments.shapes[name]
        z = draws.drawn(
            self.arguments.seed,
            name,
            samples,
            lambda rng: rng.normal(size=(draws.BLOCK, count, *shape)),
        )
        values = np.asarray(noise.std) * z
        return signal(np.arange(count) * noise.hold, values.swapaxes(0, 1), "hold")

    def _holds(self, noise: draws.Noise) -> int:
        """Number of values of a random force; 1.0 s / 0.1 s are 10 despite rounding errors."""
        return max(1, math.ceil(float(self.times[-1]) / noise.hold * (1 - 1e-12)))


def _noted(motion: Trajectory) -> Array:
    """Times at which rollouts first left a limit and were lost, (S, 2); NaN for never."""
    noted = np.full((motion.q.shape[1], 2), np.nan)
    for v in reversed(motion.meta["violations"]):  # the earliest is written last
        noted[v.rollout[0], 0 if v.by is not None else 1] = v.t
    return noted


def envelope(
    robot: Model | HasModel,
    n: int,
    *,
    q: ArrayLike | draws.Draw | None = None,
    frame: str | None = None,
    effort: ArrayLike | None = None,
    parameters: Mapping[str, ArrayLike | draws.Draw] | None = None,
    **options: Unpack[Options],
) -> Results:
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
    given = {"q": draws.Anywhere() if q is None else q}
    shapes = {"q": (model.nq,)}
    arguments = draws.read_arguments(model, options.get("seed", 0), n, given, shapes, parameters)
    limits = vector_by_name(effort, dof_axis(model), "effort")
    most = np.asarray(with_limits(bounds_of(model), effort=limits).effort, float)
    if not np.isfinite(most).any():
        raise InputError(
            f"{model.name!r} has no effort limits, so nothing bounds what it can hold; give "
            f"effort=, a number or ({model.n},), N m or N."
        )
    return run_study("envelope", EnvelopeStudy(arguments, frame, most), options)


@dataclass(frozen=True, eq=False)
class EnvelopeStudy:
    """One row for each sample: the drawn values, the frame's position, and the three limits."""

    arguments: draws.Arguments
    frame: str | None
    effort: Array
    rows: int = 1

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        position = [f"p:{x}" for x in draws.AXES]
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


def run_study(name: str, study: Study, options: Options) -> Results:
    """All samples of a study, part by part; parts that are in the folder already are kept."""
    if unknown := set(options) - set(Options.__annotations__):
        known = ", ".join(Options.__annotations__)
        raise InputError(f"{name} has no option {', '.join(sorted(unknown))}; it has {known}.")
    output, executor, part = (options.get(x) for x in ("output", "executor", "part"))
    if not (executor is None or hasattr(executor, "submit")):
        raise InputError(f"executor is {executor!r:.60}; expected a concurrent.futures.Executor.")
    arguments, folder = study.arguments, None if output is None else Path(output)
    samples = arguments.samples
    fitting = max(1, PART_BYTES // study.size)  # in a part, and enough parts for all workers
    if executor is not None:
        fitting = min(fitting, max(draws.BLOCK, -(-samples // MOST_PARTS)))
    meta: dict[str, Any] = {
        "kinetree": __version__,
        "study": name,
        "robot": arguments.model.name,
        "seed": arguments.seed,
        "settings_sha256": sha256(fingerprint(study).encode()).hexdigest(),
        "samples": samples,
        "rows": study.rows,
        "part": draws.some(part, "part") if part is not None else fitting,
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
                write_part(part_file(folder, at[0] // size), meta["columns"], at, numbers)
            done += len(at)
            bar.update(done)
    if folder is not None:
        return read(folder)
    columns = tuple(meta["columns"])
    numbers = np.concatenate([found[int(x[0])] for x in parts]).reshape(-1, len(columns) - 1)
    table = {"sample": np.repeat(np.arange(samples), study.rows)}
    table |= dict(zip(columns[1:], numbers.T, strict=True))
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
        packed = pickle.dumps(study)
    except Exception as problem:
        raise InputError(
            f"the study cannot be sent to the workers of an executor: {problem} Make a law a value "
            "with kinetree.simulate.law(f, robot), and sample a function of time into a Trajectory."
        ) from problem
    futures = {executor.submit(run_part, __version__, packed, int(x[0]), len(x)): x for x in parts}
    try:
        for future in as_completed(list(futures)):
            yield futures.pop(future), future.result()
    finally:
        for future in futures:
            future.cancel()


def run_part(version: str, packed: bytes, first: int, count: int) -> Array:
    """Rows of the samples first, first + 1, ..., computed by a worker on one core."""
    if version != __version__:
        raise InputError(f"a worker has kinetree {__version__}; expected {version} everywhere.")
    with threads(1):  # cores are shared out among workers, not within a part
        return _unpacked(packed).compute(np.arange(first, first + count))


@functools.lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> Study:
    """The study, once in each process: its kernels are compiled for this copy of the robot."""
    return pickle.loads(packed)


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
            parts = [getattr(value, x.name) for x in fields(value) if x.init]
            return f"{type(value).__name__}{fingerprint(parts)}"
        case _ if isinstance(getattr(value, "model", None), Model):  # a Robot
            return fingerprint(value.model)
        case _ if callable(value):
            return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__name__)}"
        case _:
            return repr(value)
