"""Fixed steps: a method of integration (dynamics/methods.py), and the whole loop in machine code.

The method is traced into the compiled loop, and interpreted where a controller can only be run by
Python.

The loop is called for as many steps as take a fraction of a second. Between calls the progress bar
moves, Ctrl-C is noticed and limits are looked at; then the state goes on where it was. The same
code drives the CPU and the GPU (`Machine`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.progress import Progress
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.joints.presliding import bristles
from kinetree.dynamics.methods import Method
from kinetree.dynamics.state import StateSpace
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.stepping import NEVER, Field, Stepping, interpret_run
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.kernels.step import stage_graph
from kinetree.engine.rollout import Rollout
from kinetree.simulate.equations import EquationsOfMotion, System, make_system, uses_step
from kinetree.simulate.forces import ActingForces
from kinetree.simulate.inputs import ExternalInputs, Input
from kinetree.simulate.limits import CLOSURE, margins_graph, result_places
from kinetree.simulate.options import Run
from kinetree.simulate.result import Outcome, record_rows
from kinetree.simulate.setup import Setup, remembered_loop

FORCES = "contact_forces"

CPU_OPERATIONS, CPU_TABLE = 4_000_000_000, 4_000_000  # operations; numbers over time
MEAN_NUMBERS = 2**22  # recorded in one call where contact forces are averaged: those of all steps
PYTHON_CALLS = 2_000  # evaluations of a law by Python


@dataclass(frozen=True, eq=False)
class Machine:
    """The processor that runs the loop: its module of arrays and its entry into the loop.

    integers: the type of row numbers. work, table: the
    operations, and the numbers of the table, in one call.
    """

    xp: ModuleType
    call: Callable[[LoopCall], None]
    integers: str
    work: int
    table: int


@dataclass(eq=False)
class FixedSteps:
    """A system and a method, ready to run on a machine."""

    system: System
    method: Method
    fields: dict[str, Field]
    stepping: Stepping
    machine: Machine
    derivatives: dict[Any, Any] = field(default_factory=dict)  # compiled by sensitivities

    @property
    def space(self) -> StateSpace:
        """The states of the system."""
        return self.system.space

    @cached_property
    def operations(self) -> int:
        """Operations of one rate."""
        return self.stepping.rate.operations

    def run(self, run: Run, setup: Setup, bar: Progress, row: int | None = None) -> Outcome:
        """Take all steps from setup.x0 at the times of the run; row: of the only rollout to run."""
        machine, times, batch = self.machine, run.times, setup.batch
        chosen = slice(None) if row is None else slice(row, row + 1)
        state = setup.x0[chosen].copy()
        count, xp, dtype = len(state), machine.xp, state.dtype.name
        rows, kept = record_rows(len(times), run.stride)
        external = step_inputs(setup, self.space, self.method, times)
        params = external.params(batch, xp, dtype)
        params = params if len(params) == 1 else params[chosen]
        first = xp.full((count, self.stepping.watched), NEVER, machine.integers)
        amount = xp.zeros((count, self.stepping.watched), dtype)
        records = [
            machine.xp.empty((len(kept), count, x.size), dtype) for x in self.stepping.fields
        ]
        h = np.append(np.diff(times), 0.0)
        length = self.chunk(count, external.table_rows(batch) * external.table_size)
        means = None
        if run.stride > 1 and FORCES in self.fields:
            numbers = count * sum(x.size for x in self.stepping.fields)
            length = max(1, min(length, MEAN_NUMBERS // numbers, len(times)))
            steps = [machine.xp.empty((length, count, x.size), dtype) for x in self.stepping.fields]
            means = ForceMeans(times, rows, list(self.fields).index(FORCES), steps, records)
        sampling = setup.sampling
        period = len(times) if sampling is None else sampling.steps(times)
        part, finite = slice(0, 0), self.stepping.watched - len(run.bounds)
        ending = [
            finite + k for k, x in enumerate(run.bounds) if x.quantity in (*run.ending, CLOSURE)
        ]
        ending = [*range(finite), *ending] if run.ending else []
        while part.stop < len(times):
            begin = part.stop
            until = begin - begin % period + period  # the next sample
            part = slice(begin, min(begin + length, until, len(times)))
            if sampling is not None and begin < len(times) - 1:  # the end begins the next run
                for row in range(count if begin % period == 0 else 0):
                    sampling.update(row, float(times[begin]), state[row], params[row])
            stages = times[part, None] + h[part, None] * np.array(self.method.times)
            call = LoopCall(
                state=state,
                params=params,
                table=self.table(external, stages, batch, dtype, chosen),
                times=xp.array(stages, dtype),
                h=xp.array(h[part], dtype),
                rows=xp.array(
                    rows[part] if means is None else np.arange(part.stop - begin), machine.integers
                ),
                steps=min(part.stop, len(times) - 1) - begin,
                records=records if means is None else means.steps,
                first=first,
                amount=amount,
                offset=begin,
            )
            machine.call(call)
            if means is not None:
                means.add(part)
            bar.update(float(times[part.stop - 1]))
            if run.halted or bool((first[:, ending] >= 0).any()):
                break
        if means is not None:
            means.finish(part.stop)
        named = dict(zip(self.fields, records, strict=True))
        counts: dict[str, Any] = {"steps": part.stop - 1}
        if run.halted and part.stop < len(times):
            kept = kept[kept < part.stop]
            named = {name: x[: len(kept)] for name, x in named.items()}
            counts["ended"] = float(times[part.stop - 1])
        return Outcome(named, first, amount, times, kept, counts, xp)

    def table(
        self,
        external: ExternalInputs,
        stages: Array,
        batch: tuple[int, ...],
        dtype: str = "float64",
        chosen: slice = slice(None),
    ) -> Array:
        """Values over time at the stages (E, S) of steps, (E, S, B or 1, s); chosen: rollouts."""
        xp = self.machine.xp
        ends = np.broadcast_to(np.array(self.method.times) == 1, stages.shape)
        values = external.table(stages.ravel(), ends.ravel(), batch, xp, dtype)
        values = values if values.shape[1] == 1 else values[:, chosen]
        return xp.ascontiguousarray(values.reshape(*stages.shape, *values.shape[1:]))

    def chunk(self, count: int, table: int) -> int:
        """Steps in one call; table: numbers of one time."""
        stages = len(self.method.stages)
        if self.system.graph is None:
            return max(1, PYTHON_CALLS // (stages * count))
        work = stages * count * (self.operations + 50)
        return max(1, min(self.machine.work // work, self.machine.table // (stages * table)))


def cpu_machine(system: System, stepping: Stepping) -> Machine:
    """Machine code on the CPU; the interpreter if forces come from Python."""

    def by_python(call: LoopCall) -> None:
        interpret_run(stepping, call, system.rate)

    call = Rollout(stepping).run if system.graph else by_python
    return Machine(np, call, "int64", CPU_OPERATIONS, CPU_TABLE)


def fixed_steps(
    run: Run, setup: Setup, make_machine: Callable[[System, Stepping], Machine] = cpu_machine
) -> FixedSteps:
    """The loop for a robot with all that acts on it, made once for equal laws and targets."""
    model, acting, method = run.model, setup.acting, run.fixed
    assert method is not None

    def make() -> FixedSteps:
        actuation = acting.actuation
        registers = 0 if actuation is None else actuation.registers
        ranges = () if actuation is None else actuation.ranges(model)
        dry = dry_dofs(model, acting.parameters)
        space = StateSpace(model, setup.extra, dry, registers, ranges)
        external = step_inputs(setup, space, method)
        system = make_system(
            EquationsOfMotion(space, acting, external, method, run.stops, run.saturates)
        )
        fields = recorded_fields(space, acting, method, run)
        stepping = make_stepping(run, system, tuple(fields.values()))
        return FixedSteps(system, method, fields, stepping, make_machine(system, stepping))

    return remembered_loop(run, setup, make)


def step_inputs(
    setup: Setup,
    space: StateSpace,
    method: Method,
    times: Array | None = None,
) -> ExternalInputs:
    """The inputs of a loop, with what steps need beside the forces.

    This is "step", the length of the step that begins at each time, s, if forces or accelerations
    depend on it. Without times it has its shape alone.
    """
    external, grid = setup.external, np.arange(2.0) if times is None else times
    rubbing = method.sampled and bristles(setup.model)
    if not (uses_step(method, space) or rubbing or setup.acting.actuation is not None):
        return external

    def at(t: Array, ends: Array) -> tuple[Array]:
        h = np.diff(grid)
        k = np.clip(np.searchsorted(grid, t, "right") - 1, 0, len(h) - 1)
        return (h[k][:, None],)

    return replace(external, sampled={**external.sampled, "step": Input(((1,),), at=at)})


def recorded_fields(
    space: StateSpace, acting: ActingForces, method: Method, run: Run
) -> dict[str, Field]:
    """The fields of the record; constant forces are left out."""
    nq, n = space.model.nq, space.model.n
    places = result_places(space.model, method, acting, stops=run.stops)
    in_y = {name: Field("y", x.start, x.stop - x.start) for name, x in places.items()}
    tau = in_y.pop("tau")
    fields = {"q": Field("x", 0, nq), "dq": Field("x", nq, n), "ddq": Field("k", n, n)}
    fields |= {} if acting.constant and not run.saturates else {"tau": tau}
    return fields | in_y | ({"z": Field("x", nq + n, space.extra)} if space.extra else {})


def make_stepping(run: Run, system: System, fields: tuple[Field, ...]) -> Stepping:
    """The graphs of a step."""
    space, method = system.space, run.fixed
    assert method is not None
    x, k = Port("x", (space.size,)), Port("k", (space.rates,))
    size = (2 if method.implicit else 1) * space.model.n
    y = Port("y", (max([size, *(x.start + x.size for x in fields if x.source == "y")]),))
    rate = system.graph or Graph((), (Port("t", ()), x), (k, y), ())
    return Stepping(
        rate=rate,
        stages=tuple(stage_graph(space, method, i) for i in range(len(method.stages))),
        watch=margins_graph(space, run.bounds, y.size),
        fields=fields,
    )


class ForceMeans:
    """Records of every so many steps, with the means of the contact forces between them."""

    def __init__(
        self, times: Array, rows: Array, forces: int, steps: list[Array], records: list[Array]
    ) -> None:
        """times, rows: of all evaluations; forces: the number of their field.

        steps: records of all evaluations of a call. records: those that are left.
        """
        self.rows, self.forces, self.steps, self.records = rows, forces, steps, records
        self.row = np.maximum.accumulate(rows)  # of the interval of an evaluation
        h = np.append(np.diff(times), 1.0)  # the last evaluation has a row of its own
        self.shares = h / np.bincount(self.row, h)[self.row]
        records[forces][...] = 0

    def add(self, part: slice) -> None:
        """Take over the evaluations of a call."""
        means, forces = self.records[self.forces], self.steps[self.forces]
        kept = np.flatnonzero(self.rows[part] >= 0)
        for record, steps in zip(self.records, self.steps, strict=True):
            if record is not means:
                record[self.rows[part][kept].tolist()] = steps[kept.tolist()]
        for i, (row, share) in enumerate(zip(self.row[part], self.shares[part], strict=True)):
            means[int(row)] += forces[i] * float(share)

    def finish(self, count: int) -> None:
        """Make the last interval of a run that ended after so many evaluations a mean."""
        row = int(self.row[count - 1])
        self.records[self.forces][row] /= float(self.shares[:count][self.row[:count] == row].sum())
