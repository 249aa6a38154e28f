"""The arguments of a simulation on a GPU: arrays that are there stay there."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics import neutral
from kinetree.dynamics.methods import METHODS
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.compiler.stepping import Stepping
from kinetree.engine.cuda.kernel import device_of
from kinetree.engine.cuda.launch import require_device
from kinetree.engine.cuda.rollout import CudaRollout
from kinetree.engine.kernels.free import check_free
from kinetree.errors import CompileError, InputError
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import Model
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.equations import System
from kinetree.simulate.fixed import Machine, fixed_steps
from kinetree.simulate.inputs import Input, constant, is_on_gpu
from kinetree.simulate.options import Run, checked
from kinetree.simulate.result import recorded
from kinetree.simulate.setup import Setup, common_batch, first_states, read_positions, read_setup

UNIT_LENGTH = {4: 1e-6, 8: 1e-9}  # error of the length of a quaternion on a GPU, by bytes
GPU_OPERATIONS, GPU_TABLE = 2_000_000_000_000, 64_000_000  # the same on a GPU

# axes of arguments that have more than one
AXES: dict[str, int] = {"F_ext": 2, "parameter com": 2, "parameter inertia": 3}
AXES |= {"parameter friction": 2, "parameter springs": 2}


NAMES = ("q0", "dq0", "tau", "F_ext", "controls", "activation", "drive_state", "friction_state")


def read_gpu_setup(run: Run) -> Setup:
    """Read everything that acts, with x0 and constants as arrays of CuPy.

    The reader of the CPU is given one row in the place of each array on the GPU, so that all of
    its checks are made without a copy but those of states with contacts or constraints.
    """
    cp, model = require_device(), run.model
    dtype = number_type(run.q0)
    tied = [name for name in ("constraints", "contacts") if getattr(model, name) is not None]
    if tied and dtype == "float32":
        raise InputError(
            f"q0 is float32, and {model.name!r} has {' and '.join(tied)}, which need more digits "
            "than float32 has. Give q0 as float64."
        )
    moved = _arrays_on_gpu(cp, run)
    rows = {name: np.zeros(x.shape[-AXES.get(name, 1) :]) for name, x in moved.items()}
    if "q0" in rows and rows["q0"].shape == (model.nq,):
        rows["q0"] = np.asarray(neutral(model), float)  # zeros are not unit quaternions
    # whether contacts start inside the ground, and whether loops are closed, depends on all of it
    whole = ("q0", "parameter ground") if model.contacts is not None else ()
    whole += ("q0", "dq0") if model.constraints is not None else ()
    rows |= {name: cp.asnumpy(moved[name]) for name in whole if name in moved}
    parameters = {k: rows.get(f"parameter {k}", x) for k, x in (run.parameters or {}).items()}
    arrays: dict[str, Any] = {name: rows[name] for name in NAMES if name in rows}
    setup = read_setup(replace(run, parameters=parameters, **arrays))
    _check_moved(cp, model, moved)
    q = cp.asarray(moved["q0"] if "q0" in moved else read_positions(model, run.q0), dtype)
    dq0 = np.zeros(model.n) if run.dq0 is None else run.dq0
    dq = moved["dq0"] if "dq0" in moved else np.asarray(dq0, float)
    constants = {
        name: Input.of_constant(moved[name], x.shapes[0]) if name in moved else x
        for name, x in setup.external.constants.items()
    }
    external = replace(setup.external, constants=constants)
    states: dict[str, Any] = {name: cp.asnumpy(moved[name]) for name in NAMES[5:] if name in moved}
    z = first_states(replace(run, **states), setup.acting)
    batch = common_batch(q, dq, external, z)
    x0 = [cp.broadcast_to(cp.asarray(x, dtype), (*batch, x.shape[-1])) for x in (q, dq, z)]
    state = cp.ascontiguousarray(cp.concatenate(x0, -1).reshape(math.prod(batch), -1))
    return replace(setup, x0=state, external=external, batch=batch)


def _arrays_on_gpu(cp: ModuleType, run: Run) -> dict[str, Array]:
    """The arguments that are arrays on the GPU, as arrays of CuPy without a copy."""
    named: dict[str, Any] = {name: getattr(run, name) for name in NAMES}
    named |= {f"parameter {name}": x for name, x in (run.parameters or {}).items()}
    return {
        name: x if isinstance(x, cp.ndarray) else cp.asarray(x)
        for name, x in named.items()
        if is_on_gpu(x)
    }


def number_type(q0: StateLike) -> str:
    """The number type of the rollouts: that of q0, float32 or float64."""
    dtype = getattr(q0, "dtype", "") if is_on_gpu(q0) else np.asarray(q0).dtype
    return "float32" if str(dtype).endswith("float32") else "float64"


def _check_moved(cp: ModuleType, model: Model, moved: Mapping[str, Array]) -> None:
    """Raise unless numbers are finite and quaternions have length 1; found on the GPU.

    The message comes from the check of the CPU, which gets a copy only if something is wrong.
    """
    for name, x in moved.items():
        if x.dtype.kind not in "fiub":
            raise InputError(f"{name} holds {x.dtype}; expected real numbers.")
        if not bool(cp.isfinite(x).all()):
            constant(cp.asnumpy(x), x.shape[-1:], name, "finite numbers")
        parameter = name.partition("parameter ")[2]
        if parameter and (parameter == "inertia" or bool((x < 0).any())):
            check_free(model, parameter, cp.asnumpy(x).astype(float))
    turned = [joint.coords[:4] for joint in model.joints if joint.type in (SPHERICAL, FREE)]
    for coords in turned if "q0" in moved else ():
        length = cp.linalg.norm(moved["q0"][..., list(coords)], axis=-1)
        if bool((abs(length - 1) > UNIT_LENGTH[length.dtype.itemsize]).any()):
            read_positions(model, cp.asnumpy(moved["q0"]))


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
    cp, rollout = require_device(), CudaRollout(stepping)

    def call(loop: LoopCall) -> None:
        rollout.run(loop)
        cp.cuda.get_current_stream().synchronize()  # so that the bar moves and Ctrl-C is noticed

    return Machine(cp, call, "int32", GPU_OPERATIONS, GPU_TABLE)
