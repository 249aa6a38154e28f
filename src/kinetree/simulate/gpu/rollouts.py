"""Simulation on a GPU: the same rollouts, checks and records, with arrays that stay there."""

# TODO merge docstring of kinetree.simulate.gpu.rollouts:
# GpuTrajectory: what a simulation on a GPU leaves there, and what is said where it failed.

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinetree.backends.cuda.kernel import device_of
from kinetree.backends.cuda.launch import require_device
from kinetree.backends.cuda.rollout import CudaRollout
from kinetree.base.arrays import Array
from kinetree.base.progress import Progress
from kinetree.compiler.stepping import NEVER, Run
from kinetree.errors import CompileError
from kinetree.model import Model
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.fixed_steps import Method, Outcome, fields_of, make_stepping, with_stop
from kinetree.simulate.core.forces import check_steady, python_note
from kinetree.simulate.core.limits import Bound, Violation, violations
from kinetree.simulate.core.outcome import conclude, hold_lost, recorded
from kinetree.simulate.core.setup import Setup, known_controller
from kinetree.simulate.core.state import StateSpace
from kinetree.simulate.core.system import make_system
from kinetree.simulate.friction.stiction import rubbing
from kinetree.simulate.gpu.inputs import Given, over_time, read_given, stacked, table_batch
from kinetree.simulate.simulation import record_rows, remembered
from kinetree.trajectory import Trajectory

WORK = 2_000_000_000_000  # operations between looks at the clock, about a tenth of a second
TABLE = 64_000_000  # numbers of the table that are kept on the GPU at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class GpuTrajectory:
    """A motion whose arrays are CuPy's: q, (T, ..., nq); dq, ddq, tau, (T, ..., n); t is NumPy's.

    What the fields mean is said in `Trajectory`; `cpu()` is one.
    """

    t: Array
    q: Any
    dq: Any
    ddq: Any
    tau: Any
    model: Model
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Axes between time and joint; () for a single motion."""
        return self.q.shape[1:-1]

    def __len__(self) -> int:
        return len(self.t)

    def cpu(self) -> Trajectory:
        """The same motion in memory of the CPU."""
        q, dq, ddq, tau = (
            np.asarray(x.get(), float) for x in (self.q, self.dq, self.ddq, self.tau)
        )
        meta = {key: x.get() if hasattr(x, "get") else x for key, x in self.meta.items()}
        model = self.model
        return Trajectory(
            t=self.t, q=q, dq=dq, ddq=ddq, tau=tau, name=model.name, model=model, meta=meta
        )


def noted_rows(
    space: StateSpace, given: Given, outcome: Outcome, times: Array, bound: Sequence[Bound]
) -> tuple[Array, list[Violation]]:
    """The rollouts of which something was noted, and all of that; only they leave the GPU."""
    cp = require_device()
    chosen = cp.flatnonzero((outcome.first >= 0).any(axis=1))
    rows = cp.asnumpy(chosen)
    first, amount = cp.asnumpy(outcome.first[chosen]), cp.asnumpy(outcome.amount[chosen])
    found = violations(space, bound, times, first, amount, (len(rows),))

    def named(violation: Violation) -> Violation:
        number = rows[violation.rollout[0]]
        at = np.unravel_index(number, given.batch) if given.batch else ()
        return replace(violation, rollout=tuple(int(k) for k in at))

    return rows, [named(v) for v in found]


def hold_rows(
    given: Given, outcome: Outcome, count: int, rows: Array, lost: Sequence[Violation]
) -> None:
    """Rollouts of a batch that ran away stand still where they were last finite."""
    cp = require_device()
    place = {int(row): k for k, row in enumerate(rows)}
    own = [place[int(np.ravel_multi_index(v.rollout, given.batch))] for v in lost]
    few = {name: cp.asnumpy(x[:, cp.asarray(rows)]) for name, x in outcome.records.items()}
    part = Outcome(few, outcome.first, outcome.amount)
    found = [replace(v, rollout=(k,)) for v, k in zip(lost, own, strict=True)]
    hold_lost(part, count, found, (len(rows),))
    for name, x in few.items():
        outcome.records[name][:, cp.asarray(rows)] = cp.asarray(x)


class GpuSteps:
    """A system and a method, ready to run on the GPU."""

    def __init__(
        self,
        space: StateSpace,
        setup: Setup,
        method: Method,
        bound: tuple[Bound, ...],
        constant: bool,
    ) -> None:
        system = make_system(space, setup.actors, with_stop(setup.external, space))
        if system.graph is None:
            raise CompileError(
                f"target 'cuda' runs compiled laws alone, but {system.note}. Write the law "
                "with kinetree.scalars, or simulate with target='cpu'."
            )
        self.space, self.method = space, method
        self.fields = fields_of(space, constant)
        stepping = make_stepping(system, method, bound, tuple(self.fields.values()))
        self.rollout = CudaRollout(stepping)

    def run(
        self, given: Given, times: Array, rows: Array, progress: Progress, stop: bool
    ) -> Outcome:
        """All steps; see `FixedSteps.run`."""
        cp, dtype, count = require_device(), given.x0.dtype, len(given.x0)
        stepping = self.rollout.stepping
        external = with_stop(
            given.external, self.space, self.method.braking / float(times[1] - times[0])
        )
        params = stacked(cp, external, given.batch, dtype)
        first = cp.full((count, stepping.watched), NEVER, np.int32)
        amount = cp.zeros((count, stepping.watched), dtype)
        shape = int(rows.max()) + 1, count
        records = [cp.empty((*shape, x.size), dtype) for x in stepping.fields]
        h = np.append(np.diff(times), 0.0)
        wide = math.prod(table_batch(external, given.batch))
        length = self.chunk(count, wide * external.table_size)
        for begin in range(0, len(times), length):
            part = slice(begin, min(begin + length, len(times)))
            stages = times[part, None] + h[part, None] * np.array(self.method.times)
            run = Run(
                state=given.x0,
                params=params,
                table=self.table(cp, external, stages, given.batch, dtype),
                times=cp.asarray(stages, dtype),
                h=cp.asarray(h[part], dtype),
                rows=cp.asarray(rows[part], np.int32),
                steps=min(part.stop, len(times) - 1) - begin,
                records=records,
                first=first,
                amount=amount,
                offset=begin,
            )
            self.rollout.run(run)
            cp.cuda.get_current_stream().synchronize()  # so that a bar moves and Ctrl-C is heard
            progress.update(float(times[part.stop - 1]))
            if stop and bool((first >= 0).any()):
                break
        return Outcome(dict(zip(self.fields, records, strict=True)), first, amount)

    def table(
        self, cp: Any, external: ExternalInputs, stages: Array, batch: tuple[int, ...], dtype: Any
    ) -> Any:
        """What changes with time, (E, S, B or 1, s)."""
        ends = np.broadcast_to(np.array(self.method.times) == 1, stages.shape)
        found = over_time(cp, external, stages.ravel(), ends.ravel(), batch, dtype)
        return found.reshape(*stages.shape, *found.shape[1:])

    def chunk(self, count: int, table: int) -> int:
        """Steps in one call."""
        stages = len(self.method.stages)
        work = stages * max(count, 1) * (self.rollout.stepping.rate.operations + 50)
        return max(1, min(WORK // work, TABLE // (stages * table)))


def gpu_steps(model: Model, setup: Setup, method: Method, bound: tuple[Bound, ...]) -> GpuSteps:
    """The loop for a robot with all that acts on it, made once for equal laws."""

    def make() -> GpuSteps:
        space = StateSpace(model, setup.extra, rubbing(model, setup.actors.parameters))
        forces = setup.actors.tau
        idle = setup.actors.controller is None
        constant = idle and (forces is None or forces.constant is not None)
        return GpuSteps(space, setup, method, bound, constant)

    check_steady(setup.actors.verdict, method.name, len(method.stages))
    return remembered(setup, ("cuda", method.name, bool(bound)), make)


def finish(
    space: StateSpace,
    given: Given,
    outcome: Outcome,
    times: Array,
    kept: Array,
    bound: Sequence[Bound],
    limits: str,
    meta: dict[str, Any],
) -> GpuTrajectory:
    """The record, or the error that says when, where and why it ended; as on the CPU."""
    rows, noted = noted_rows(space, given, outcome, times, bound)

    def hold(lost: Sequence[Violation]) -> None:
        hold_rows(given, outcome, len(kept), rows, lost)

    def record(count: int) -> GpuTrajectory:
        found, more = recorded(outcome, count, given.batch, meta)
        if "tau" not in found:
            cp, n = require_device(), space.model.n
            own = given.external.constants.get("tau")
            constant = cp.zeros(n) if own is None else cp.asarray(own[0])
            shape = (count, *given.batch, n)
            found["tau"] = cp.broadcast_to(constant.astype(given.x0.dtype), shape)
        return GpuTrajectory(t=times[kept[:count]], model=space.model, meta=more, **found)

    return conclude(outcome, noted, times[kept], given.batch, limits, meta, hold, record)


def simulate_on_gpu(
    model: Model,
    q0: Any,
    dq0: Any,
    acting: tuple[Any, Any, Any],
    parameters: Mapping[str, Any] | None,
    method: Method,
    times: Array,
    every: int,
    bound: tuple[Bound, ...],
    limits: str,
    progress: bool | None,
) -> GpuTrajectory:
    """See `simulate`, whose checks were made; `acting` are tau, F_ext and the controller."""
    with device_of(require_device(), (q0, dq0, *acting, *(parameters or {}).values())):
        given = read_given(model, q0, dq0, *acting, parameters)
        steps = gpu_steps(model, given.setup, method, bound)
        rows, kept = record_rows(len(times), every)
        with Progress("simulating", float(times[-1]), progress) as bar:
            outcome = steps.run(given, times, rows, bar, limits == "stop")
        controller = known_controller(given.setup.actors.controller)
        meta = {"method": method.name, "controller": controller, "steps": len(times) - 1}
        note = python_note(given.setup.actors.verdict)
        meta |= {"note": note, "compiled": note is None}
        return finish(steps.space, given, outcome, times, kept, bound, limits, meta)
