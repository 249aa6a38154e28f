"""Fixed steps: a method of integration (algorithms/steps.py), and the whole loop in machine code.

The method is traced into the compiled loop, and interpreted where a controller can only be run by
Python.

The loop is called for as many steps as take a fraction of a second. Between calls the progress bar
moves, Ctrl-C is noticed and limits are looked at; then the state goes on where it was. The same
code drives the CPU and the GPU (`Machine`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import ModuleType
from typing import Any

import numpy as np

from kinetree.algorithms.state import StateSpace
from kinetree.algorithms.steps import METHODS, Method
from kinetree.algorithms.stiction import dry_dofs
from kinetree.backends.rollout import Rollout
from kinetree.base.arrays import Array
from kinetree.base.options import is_one_of
from kinetree.base.progress import Progress
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.stepping import NEVER, Field, Run, Stepping, interpret_run
from kinetree.errors import InputError
from kinetree.kernels.step import stage_graph
from kinetree.model import Model
from kinetree.simulate.core.closure import rows, with_closure_time
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.forces import ActingForces, shown_parts
from kinetree.simulate.core.limits import margins_graph
from kinetree.simulate.core.outcome import Outcome, record_rows
from kinetree.simulate.core.setup import ADAPTIVE, Plan, Setup, remembered_loop
from kinetree.simulate.core.signals import TimeSource
from kinetree.simulate.core.system import Plant, System, make_system

WORK = 4_000_000_000  # operations in one call on the CPU, about a tenth of a second
TABLE = 4_000_000  # numbers of the table of one call
SLOW = 2_000  # evaluations by Python in one call


def find_method(name: str) -> Method | None:
    """Return the method of that name; None is the adaptive one."""
    if is_one_of(name, (ADAPTIVE,)):
        return None
    if not is_one_of(name, METHODS):
        known = ", ".join([*METHODS, ADAPTIVE])
        raise InputError(f"method is {name!r}; choose one of {known}.")
    return METHODS[name]


@dataclass(frozen=True, eq=False)
class Machine:
    """The processor that runs the loop: its module of arrays and its entry into the loop.

    integers: the type of row numbers. work, table: the operations, and the numbers of the table,
    in one call.
    """

    xp: ModuleType
    call: Callable[[Run], None]
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

    def run(self, setup: Setup, plan: Plan, bar: Progress) -> Outcome:
        """Take all steps from setup.x0 at the times of the plan."""
        machine, times, batch, count = self.machine, plan.times, setup.batch, len(setup.x0)
        xp, dtype = machine.xp, setup.x0.dtype.name
        rows, kept = record_rows(len(times), plan.every)
        braking = self.method.braking / float(times[1] - times[0])
        external = with_stop(setup.external, self.space, braking)
        external = with_closure_time(external, plan.closure_time)
        external = with_step(external, reads_step(self.method, setup), times)
        state, params = setup.x0.copy(), external.params(batch, xp, dtype)
        first = xp.full((count, self.stepping.watched), NEVER, machine.integers)
        amount = xp.zeros((count, self.stepping.watched), dtype)
        records = [xp.empty((len(kept), count, x.size), dtype) for x in self.stepping.fields]
        h = np.append(np.diff(times), 0.0)
        length = self.chunk(count, external.table_rows(batch) * external.table_size)
        sampling = setup.sampling
        period = len(times) if sampling is None else sampling.steps(times)
        part = slice(0, 0)
        while part.stop < len(times):
            begin = part.stop
            until = begin - begin % period + period  # the next sample
            part = slice(begin, min(begin + length, until, len(times)))
            if sampling is not None and begin < len(times) - 1:  # the end begins the next run
                for row in range(count if begin % period == 0 else 0):
                    sampling.update(row, float(times[begin]), state[row], params[row])
            stages = times[part, None] + h[part, None] * np.array(self.method.times)
            run = Run(
                state=state,
                params=params,
                table=self.table(external, stages, batch, dtype),
                times=xp.array(stages, dtype),
                h=xp.array(h[part], dtype),
                rows=xp.array(rows[part], machine.integers),
                steps=min(part.stop, len(times) - 1) - begin,
                records=records,
                first=first,
                amount=amount,
                offset=begin,
            )
            machine.call(run)
            bar.update(float(times[part.stop - 1]))
            if plan.limits == "stop" and bool((first >= 0).any()):
                break
        named = dict(zip(self.fields, records, strict=True))
        return Outcome(named, first, amount, times, kept, xp)

    def table(
        self,
        external: ExternalInputs,
        stages: Array,
        batch: tuple[int, ...],
        dtype: str = "float64",
    ) -> Array:
        """Values over time at the stages (E, S) of steps, (E, S, B or 1, s)."""
        xp = self.machine.xp
        ends = np.broadcast_to(np.array(self.method.times) == 1, stages.shape)
        found = external.table(stages.ravel(), ends.ravel(), batch, xp, dtype)
        return xp.ascontiguousarray(found.reshape(*stages.shape, *found.shape[1:]))

    def chunk(self, count: int, table: int) -> int:
        """Steps in one call; table: numbers of one time."""
        stages = len(self.method.stages)
        if self.system.graph is None:
            return max(1, SLOW // (stages * count))
        work = stages * count * (self.operations + 50)
        return max(1, min(self.machine.work // work, self.machine.table // (stages * table)))


def cpu_machine(system: System, stepping: Stepping) -> Machine:
    """Machine code on the CPU; the interpreter if forces come from Python."""
    if system.graph is None:
        call = partial(_run_by_python, stepping, system)
    else:
        call = Rollout(stepping).run
    return Machine(np, call, "int64", WORK, TABLE)


def _run_by_python(stepping: Stepping, system: System, run: Run) -> None:
    interpret_run(stepping, run, system.rate)


def fixed_steps(
    model: Model,
    setup: Setup,
    method: Method,
    plan: Plan,
    target: str = "cpu",
    make_machine: Callable[[System, Stepping], Machine] = cpu_machine,
) -> FixedSteps:
    """The loop for a robot with all that acts on it, made once for equal laws and targets."""

    def make() -> FixedSteps:
        actuation = setup.acting.actuation
        registers = 0 if actuation is None else actuation.registers
        ranges = () if actuation is None else actuation.ranges(model)
        dry = dry_dofs(model, setup.acting.parameters)
        space = StateSpace(model, setup.extra, dry, registers, ranges)
        external = with_closure_time(with_stop(setup.external, space), plan.closure_time)
        external = with_step(external, reads_step(method, setup))
        way = {"implicit": method.implicit, "positions": method.positions}
        system = make_system(Plant(space, setup.acting, external, **way))
        fields = recorded_fields(space, setup.acting, method.implicit)
        stepping = make_stepping(system, method, plan, tuple(fields.values()))
        return FixedSteps(system, method, fields, stepping, make_machine(system, stepping))

    rest = target, method.name, len(plan.bounds), plan.closure_time is None
    return remembered_loop(model, setup, rest, make)


def with_stop(external: ExternalInputs, space: StateSpace, stop: float = 0.0) -> ExternalInputs:
    """The inputs with the rate at which dry friction may brake, 1/s, if any joint has it."""
    if not space.dry:
        return external
    return replace(external, constants={**external.constants, "stop": (np.array([stop]), (1,))})


def reads_step(method: Method, setup: Setup) -> bool:
    """Whether forces or accelerations depend on the length of a step."""
    return method.implicit or setup.acting.actuation is not None


def with_step(external: ExternalInputs, wanted: bool, times: Array | None = None) -> ExternalInputs:
    """The inputs with the length of the step that begins at each time, if it is wanted."""
    if not wanted:
        return external
    grid = np.arange(2.0) if times is None else times

    def at(t: Array, ends: Array) -> tuple[Array]:
        h = np.diff(grid)
        k = np.clip(np.searchsorted(grid, t, "right") - 1, 0, len(h) - 1)
        return (h[k][:, None],)

    return replace(external, sampled={**external.sampled, "step": TimeSource(at, ((1,),))})


def recorded_fields(
    space: StateSpace, acting: ActingForces, implicit: bool = False
) -> dict[str, Field]:
    """The fields of the record; constant forces are left out.

    The rate of an implicit method is that of its step; the acceleration now follows tau in y, and
    controls and the commands to drives come last.
    """
    nq, n = space.model.nq, space.model.n
    ddq = Field("y" if implicit else "k", n, n)
    found = {"q": Field("x", 0, nq), "dq": Field("x", nq, n), "ddq": ddq}
    if not acting.constant:
        found["tau"] = Field("y", 0, n)
    first, m = (2 if implicit else 1) * n, rows(space.model)
    if m:
        found |= {"lam": Field("y", first, m), "Phi": Field("y", first + m, m)}
    for name, (start, size) in shown_parts(acting, first + 2 * m, space.model).items():
        found[name] = Field("y", start, size)
    if space.extra:
        found["z"] = Field("x", nq + n, space.extra)
    return found


def make_stepping(
    system: System, method: Method, plan: Plan, fields: tuple[Field, ...]
) -> Stepping:
    """The graphs of a step."""
    space = system.space
    x, k = Port("x", (space.size,)), Port("k", (space.rates,))
    size = (2 if method.implicit else 1) * space.model.n
    y = Port("y", (max([size, *(x.start + x.size for x in fields if x.source == "y")]),))
    looped = system.laws is not None
    rate = system.graph or Graph((), (Port("t", ()), x), (k, y), ())
    return Stepping(
        rate=rate,
        stages=tuple(
            stage_graph(space, method, i, closed=plan.closure_time is None, looped=looped)
            for i in range(len(method.stages))
        ),
        watch=margins_graph(space, plan.bounds, y.size, looped=looped),
        fields=fields,
    )
