"""Rollouts on a GPU: the loop, checks and records of the CPU, with arrays that stay there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.methods import METHODS
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.compiler.stepping import Stepping
from kinetree.engine.cuda.kernel import device_of
from kinetree.engine.cuda.launch import require_device
from kinetree.engine.cuda.rollout import CudaRollout
from kinetree.errors import CompileError, InputError
from kinetree.model import Model
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.ending import recorded
from kinetree.simulate.core.fixed_steps import Machine, fixed_steps
from kinetree.simulate.core.run import Run, checked
from kinetree.simulate.core.system import System
from kinetree.simulate.gpu.inputs import read_gpu_setup
from kinetree.simulate.tuning import GPU_OPERATIONS, GPU_TABLE


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


def simulated_on_gpu(run: Run) -> GpuTrajectory:
    """The motion that a run asks for, on the GPU on which its arguments are."""
    run = checked(run)
    if run.fixed is None:
        raise InputError(
            f"method {run.method!r} chooses its steps one by one, which target 'cuda' cannot do; "
            f"take one of {', '.join(METHODS)}."
        )
    acting = run.tau, run.F_ext, run.controller, run.controls
    states = run.activation, run.drive_state, run.friction_state
    arguments = run.q0, run.dq0, *acting, *states, *(run.parameters or {}).values()
    with device_of(require_device(), arguments):
        setup = read_gpu_setup(run)
        if setup.sampling is not None:
            raise CompileError(
                f"target 'cuda' runs compiled laws alone, but {setup.sampling.note}. Simulate with "
                "target='cpu'."
            )
        loop = fixed_steps(run, setup, cuda_machine)
        with run.bar() as bar:
            outcome = loop.run(run, setup, bar)

        def make(t: Array, arrays: dict[str, Any], meta: dict[str, Any]) -> GpuTrajectory:
            return GpuTrajectory(t=t, model=run.model, meta=meta, **arrays)

        return recorded(run, setup, outcome, None, make)


def cuda_machine(system: System, stepping: Stepping) -> Machine:
    """The GPU, with the loop compiled for it."""
    if system.graph is None:
        raise CompileError(
            f"target 'cuda' runs compiled laws alone, but {system.note}. Write the law "
            "with kinetree.scalars, or simulate with target='cpu'."
        )
    cp = require_device()
    call = GpuCall(CudaRollout(stepping), cp)
    return Machine(cp, cp.empty, call, "int32", GPU_OPERATIONS, GPU_TABLE)


@dataclass(frozen=True, eq=False)
class GpuCall:
    """The loop on a GPU."""

    rollout: CudaRollout
    cp: Any

    def __call__(self, call: LoopCall) -> None:
        """Run and wait for the end, so that the bar moves and Ctrl-C is noticed."""
        self.rollout.run(call)
        self.cp.cuda.get_current_stream().synchronize()
