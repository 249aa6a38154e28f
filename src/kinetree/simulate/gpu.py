"""Simulation on a GPU: the same rollouts, checks and records, with arrays that stay there."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.backends.cuda.kernel import device_of
from kinetree.backends.cuda.rollout import CudaRollout
from kinetree.backends.cuda.toolkit import require_device
from kinetree.base.arrays import Array
from kinetree.compiler.stepping import NEVER, Run
from kinetree.errors import CompileError
from kinetree.model import Model
from kinetree.simulate.feed import Feed
from kinetree.simulate.gpu_inputs import Given, over_time, read_given, stacked, table_batch
from kinetree.simulate.gpu_trajectory import GpuTrajectory, finish
from kinetree.simulate.inputs import Setup, known_controller
from kinetree.simulate.integrators import Method
from kinetree.simulate.laws import check_steady, python_note
from kinetree.simulate.loop import Outcome, fields_of, make_stepping, with_stop
from kinetree.simulate.progress import Progress
from kinetree.simulate.simulate import record_rows, remembered
from kinetree.simulate.space import Space
from kinetree.simulate.stiction import rubbing
from kinetree.simulate.system import make_system
from kinetree.simulate.watch import Bound

WORK = 2_000_000_000_000  # operations between looks at the clock, about a tenth of a second
TABLE = 64_000_000  # numbers of the table that are kept on the GPU at a time


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


class GpuSteps:
    """A system and a method, ready to run on the GPU."""

    def __init__(
        self, space: Space, setup: Setup, method: Method, bound: tuple[Bound, ...], constant: bool
    ) -> None:
        system = make_system(space, setup.actors, with_stop(setup.feed, space))
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
        feed = with_stop(given.feed, self.space, self.method.braking / float(times[1] - times[0]))
        params = stacked(cp, feed, given.batch, dtype)
        first = cp.full((count, stepping.watched), NEVER, np.int32)
        amount = cp.zeros((count, stepping.watched), dtype)
        shape = int(rows.max()) + 1, count
        records = [cp.empty((*shape, x.size), dtype) for x in stepping.fields]
        h = np.append(np.diff(times), 0.0)
        wide = math.prod(table_batch(feed, given.batch))
        length = self.chunk(count, wide * feed.table_size)
        for begin in range(0, len(times), length):
            part = slice(begin, min(begin + length, len(times)))
            stages = times[part, None] + h[part, None] * np.array(self.method.times)
            run = Run(
                state=given.x0,
                params=params,
                table=self.table(cp, feed, stages, given.batch, dtype),
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

    def table(self, cp: Any, feed: Feed, stages: Array, batch: tuple[int, ...], dtype: Any) -> Any:
        """What changes with time, (E, S, B or 1, s)."""
        ends = np.broadcast_to(np.array(self.method.times) == 1, stages.shape)
        found = over_time(cp, feed, stages.ravel(), ends.ravel(), batch, dtype)
        return found.reshape(*stages.shape, *found.shape[1:])

    def chunk(self, count: int, table: int) -> int:
        """Steps in one call."""
        stages = len(self.method.stages)
        work = stages * max(count, 1) * (self.rollout.stepping.rate.operations + 50)
        return max(1, min(WORK // work, TABLE // (stages * table)))


def gpu_steps(model: Model, setup: Setup, method: Method, bound: tuple[Bound, ...]) -> GpuSteps:
    """The loop for a robot with all that acts on it, made once for equal laws."""

    def make() -> GpuSteps:
        space = Space(model, setup.extra, rubbing(model, setup.actors.parameters))
        forces = setup.actors.tau
        idle = setup.actors.controller is None
        constant = idle and (forces is None or forces.constant is not None)
        return GpuSteps(space, setup, method, bound, constant)

    check_steady(setup.actors.verdict, method.name, len(method.stages))
    return remembered(setup, ("cuda", method.name, bool(bound)), make)
