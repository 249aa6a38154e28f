"""Rollouts on a GPU: the loop, checks and records of the CPU, with arrays that stay there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from kinetree.backends.cuda.kernel import device_of
from kinetree.backends.cuda.launch import require_device
from kinetree.backends.cuda.rollout import CudaRollout
from kinetree.base.arrays import Array
from kinetree.compiler.stepping import Run, Stepping
from kinetree.errors import CompileError
from kinetree.model import Model
from kinetree.simulate.core.actuation import Actuation
from kinetree.simulate.core.fixed_steps import Machine, Method, fixed_steps
from kinetree.simulate.core.outcome import finish
from kinetree.simulate.core.setup import Arguments, Plan
from kinetree.simulate.core.system import System
from kinetree.simulate.gpu.inputs import read_gpu_setup
from kinetree.trajectory import Trajectory

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


def simulate_on_gpu(
    model: Model,
    arguments: Arguments,
    method: Method,
    plan: Plan,
    actuation: Actuation | None = None,
) -> GpuTrajectory:
    """Simulate on the GPU on which the arguments are; see `simulate`."""
    forces = arguments.tau, arguments.F_ext, arguments.controller
    forces = *forces, arguments.controls, arguments.activation, arguments.drive_state
    given = arguments.q0, arguments.dq0, *forces, *(arguments.parameters or {}).values()
    with device_of(require_device(), given):
        setup = read_gpu_setup(model, arguments, actuation)
        steps = fixed_steps(model, setup, method, plan, "cuda", cuda_machine)
        with plan.bar() as bar:
            outcome = steps.run(setup, plan, bar)

        def make(t: Array, arrays: dict[str, Any], meta: dict[str, Any]) -> GpuTrajectory:
            return GpuTrajectory(t=t, model=model, meta=meta, **arrays)

        meta = setup.described(method.name, None, {"steps": len(plan.times) - 1})
        return finish(steps.space, setup, plan, outcome, meta, make)


def cuda_machine(system: System, stepping: Stepping) -> Machine:
    """The GPU, with the loop compiled for it."""
    if system.graph is None:
        raise CompileError(
            f"target 'cuda' runs compiled laws alone, but {system.note}. Write the law "
            "with kinetree.scalars, or simulate with target='cpu'."
        )
    rollout, cp = CudaRollout(stepping), require_device()

    def call(run: Run) -> None:
        rollout.run(run)
        cp.cuda.get_current_stream().synchronize()  # so that the bar moves and Ctrl-C is noticed

    return Machine(cp, call, "int32", WORK, TABLE)
