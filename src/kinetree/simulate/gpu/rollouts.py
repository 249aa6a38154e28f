"""Rollouts on a GPU: the loop, checks and records of the CPU, with arrays that stay there."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from kinetree.backends.cuda.kernel import device_of
from kinetree.backends.cuda.launch import require_device
from kinetree.backends.cuda.rollout import CudaRollout
from kinetree.base.arrays import Array
from kinetree.compiler.stepping import Run, Stepping
from kinetree.errors import CompileError
from kinetree.model import Model
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.actuation import Actuation
from kinetree.simulate.core.fixed_steps import Machine, Method, fixed_steps
from kinetree.simulate.core.outcome import finish
from kinetree.simulate.core.setup import Arguments, Plan
from kinetree.simulate.core.system import System
from kinetree.simulate.gpu.again import Given, Options, find, remember
from kinetree.simulate.gpu.inputs import read_gpu_setup

WORK = 2_000_000_000_000  # operations in one call, about a tenth of a second
TABLE = 64_000_000  # numbers of the table of one call


@dataclass(frozen=True, eq=False, kw_only=True)
class GpuTrajectory:
    """A motion whose arrays are CuPy's: q, (T, ..., nq); dq, ddq, tau, (T, ..., n); t is NumPy's.

    The fields mean the same as those of `Trajectory`, which `cpu()` returns.

    Args:
        t: times, NumPy's, shape (T,), s.
        q: joint positions, shape (T, ..., nq), rad or m.
        dq: joint rates, shape (T, ..., n), rad/s or m/s.
        ddq: joint accelerations, shape (T, ..., n), rad/s^2 or m/s^2.
        tau: joint forces, shape (T, ..., n), N m or N.
        model: the robot.
        meta: description of the run.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    model: Model
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Axes between time and joint; () for a single motion."""
        return self.q.shape[1:-1]

    def __len__(self) -> int:
        return len(self.t)

    def cpu(self) -> Trajectory:
        """Copy the motion to the memory of the CPU."""
        arrays: list[Any] = [self.q, self.dq, self.ddq, self.tau]
        q, dq, ddq, tau = (np.asarray(x.get(), float) for x in arrays)
        meta = {key: _on_cpu(x) for key, x in self.meta.items()}
        model = self.model
        return Trajectory(
            t=self.t, q=q, dq=dq, ddq=ddq, tau=tau, name=model.name, model=model, meta=meta
        )


def _on_cpu(x: Any) -> Any:
    """An entry of meta with its arrays in the memory of the CPU; dicts have arrays by name."""
    if isinstance(x, dict):
        return {name: _on_cpu(part) for name, part in cast("dict[str, Any]", x).items()}
    return x.get() if hasattr(x, "get") else x


def simulate_again(model: Model, options: Options, given: Given) -> GpuTrajectory | None:
    """Repeat a simulation like one before; None where it has to be read from the start."""
    run = find(model, options, given)
    found = None if run is None else run.repeat(given)
    return None if found is None else GpuTrajectory(model=model, **found)


def simulate_on_gpu(
    model: Model,
    arguments: Arguments,
    method: Method,
    plan: Plan,
    actuation: Actuation | None = None,
    options: Options | None = None,
) -> GpuTrajectory:
    """Simulate on the GPU on which the arguments are; see `simulate`.

    options: those of a run that may be repeated, see `simulate_again`; None: it may not.
    """
    forces = arguments.tau, arguments.F_ext, arguments.controller
    forces = *forces, arguments.controls, arguments.activation, arguments.drive_state
    given = arguments.q0, arguments.dq0, *forces, *(arguments.parameters or {}).values()
    with device_of(require_device(), given):
        setup = read_gpu_setup(model, arguments, actuation)
        if setup.sampling is not None:
            raise CompileError(
                f"target 'cuda' runs compiled laws alone, but {setup.sampling.note}. Simulate with "
                "target='cpu'."
            )
        steps = fixed_steps(model, setup, method, plan, "cuda", cuda_machine)
        runs: list[Run] = []
        rollout = cast("GpuCall", steps.machine.call)

        def call(run: Run) -> None:
            runs.append(run)
            rollout(run)

        noted = replace(steps, machine=replace(steps.machine, call=call))
        with plan.bar() as bar:
            outcome = noted.run(setup, plan, bar)

        def make(t: Array, arrays: dict[str, Any], meta: dict[str, Any]) -> GpuTrajectory:
            return GpuTrajectory(t=t, model=model, meta=meta, **arrays)

        meta = setup.described(method.name, None, {"steps": len(plan.times) - 1})
        found = finish(steps.space, setup, plan, outcome, meta, make)
        if options is not None:
            given = arguments.q0, arguments.dq0, arguments.tau
            motion = {name: getattr(found, name) for name in ("t", "meta", "q", "dq", "ddq", "tau")}
            remember(model, options, given, setup, rollout.rollout, runs, motion)
        return found


def cuda_machine(system: System, stepping: Stepping) -> Machine:
    """The GPU, with the loop compiled for it."""
    if system.graph is None:
        raise CompileError(
            f"target 'cuda' runs compiled laws alone, but {system.note}. Write the law "
            "with kinetree.scalars, or simulate with target='cpu'."
        )
    cp = require_device()
    return Machine(cp, GpuCall(CudaRollout(stepping), cp), "int32", WORK, TABLE)


@dataclass(frozen=True, eq=False)
class GpuCall:
    """The loop on a GPU."""

    rollout: CudaRollout
    cp: Any

    def __call__(self, run: Run) -> None:
        """Run and wait for the end, so that the bar moves and Ctrl-C is noticed."""
        self.rollout.run(run)
        self.cp.cuda.get_current_stream().synchronize()
