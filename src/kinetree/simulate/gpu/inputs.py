"""What a simulation on a GPU is given: arrays that are there stay there; checks are the CPU's."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algorithms import neutral
from kinetree.backends.cuda.launch import require_device
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.setup import Setup, common_batch, first_state, positions, read_setup
from kinetree.simulate.core.signals import is_on_gpu
from kinetree.simulate.core.sources import constant

UNIT = {4: 1e-6, 8: 1e-9}  # how far the length of a quaternion may be from 1, by bytes of a number


@dataclass(frozen=True, eq=False)
class Given:
    """What acts on the rollouts, with arrays on the GPU: initial states x0 (B, x), and the external."""

    setup: Setup
    x0: Any
    external: ExternalInputs
    batch: tuple[int, ...]


def read_given(
    model: Model,
    q0: Any,
    dq0: Any,
    tau: Any,
    F_ext: Any,
    controller: Any,
    parameters: Mapping[str, Any] | None,
) -> Given:
    """Everything that acts; arrays that are on the GPU stay there.

    The CPU's reader is shown one row in the place of each, so that all of its checks are made.
    """
    cp = require_device()
    moved = {"q0": q0, "dq0": dq0, "tau": tau, "F_ext": F_ext}
    moved |= {f"parameter {name}": x for name, x in (parameters or {}).items()}
    moved = {name: on_gpu(cp, x) for name, x in moved.items() if is_on_gpu(x)}
    axes = {"F_ext": 2, "parameter com": 2, "parameter inertia": 3, "parameter friction": 2}
    rows = {name: np.zeros(x.shape[-axes.get(name, 1) :]) for name, x in moved.items()}
    if "q0" in rows and rows["q0"].shape == (model.nq,):
        rows["q0"] = np.asarray(neutral(model), float)
    own = {name: rows.get(f"parameter {name}", x) for name, x in (parameters or {}).items()}
    q, dq, forces, loads = (
        rows.get(name, x) for name, x in (("q0", q0), ("dq0", dq0), ("tau", tau), ("F_ext", F_ext))
    )
    setup = read_setup(model, q, dq, forces, loads, controller, own)
    dtype = number_type(q0)
    check_moved(cp, model, moved)
    q = cp.asarray(moved["q0"] if "q0" in moved else positions(model, q0), dtype)
    dq = moved.get("dq0", np.zeros(model.n) if dq0 is None else np.asarray(dq0, float))
    constants = {
        name: (moved.get(name, x), shape) for name, (x, shape) in setup.external.constants.items()
    }
    external = replace(setup.external, constants=constants)
    z = first_state(model, setup.actors.controller)
    batch = common_batch(q, dq, external, z)
    x0 = [cp.broadcast_to(cp.asarray(x, dtype), (*batch, x.shape[-1])) for x in (q, dq, z)]
    state = cp.concatenate(x0, -1).reshape(math.prod(batch), -1)
    return Given(setup, cp.ascontiguousarray(state), external, batch)


def on_gpu(cp: Any, x: Any) -> Any:
    """As CuPy sees it; no copy."""
    return x if isinstance(x, cp.ndarray) else cp.asarray(x)


def number_type(q0: Any) -> str:
    """The number type of the rollouts: that of q0, float32 or float64."""
    dtype = q0.dtype if is_on_gpu(q0) and hasattr(q0, "dtype") else np.asarray(q0).dtype
    return "float32" if str(dtype).endswith("float32") else "float64"


def check_moved(cp: Any, model: Model, moved: Mapping[str, Any]) -> None:
    """Finite numbers and quaternions of length 1; the CPU's checks say what is wrong and where."""
    for name, x in moved.items():
        if x.dtype.kind not in "fiub":
            raise InputError(f"{name} holds {x.dtype}; expected real numbers.")
        if not bool(cp.isfinite(x).all()):
            constant(cp.asnumpy(x), x.shape[-1:], name, "finite numbers")
    turned = [joint.coords[:4] for joint in model.joints if joint.type in (SPHERICAL, FREE)]
    for coords in turned if "q0" in moved else ():
        length = cp.linalg.norm(moved["q0"][..., list(coords)], axis=-1)
        if bool((abs(length - 1) > UNIT[length.dtype.itemsize]).any()):
            positions(model, cp.asnumpy(moved["q0"]))


def stacked(cp: Any, external: ExternalInputs, batch: tuple[int, ...], dtype: Any) -> Any:
    """All constants side by side on the GPU, (B or 1, p)."""
    wide = batch if any(x.ndim > len(shape) for x, shape in external.constants.values()) else ()
    total = cp.zeros((*wide, external.params_size), dtype)
    at = 0
    for x, shape in external.constants.values():
        size = math.prod(shape)
        lead = x.shape[: x.ndim - len(shape)]
        total[..., at : at + size] = cp.asarray(x, dtype).reshape(*lead, size)
        at += size
    return total.reshape(-1, external.params_size)


def over_time(
    cp: Any, external: ExternalInputs, times: Any, ends: Any, batch: tuple[int, ...], dtype: Any
) -> Any:
    """What changes with time at `times`, (K,), on the GPU: (K, B or 1, s), as `ExternalInputs.table`."""
    wide = table_batch(external, batch)
    total = cp.zeros((len(times), *wide, external.table_size), dtype)
    at = 0
    for source in external.sampled.values():
        for x, shape in zip(source.at(times, ends), source.shapes, strict=True):
            size = math.prod(shape)
            spread = (1,) * (len(wide) - len(source.batch)) if wide else ()
            x = cp.asarray(x, dtype).reshape(len(times), *spread, *source.batch, size)
            total[..., at : at + size] = x
            at += size
    return total.reshape(len(times), math.prod(wide), external.table_size)


def table_batch(external: ExternalInputs, batch: tuple[int, ...]) -> tuple[int, ...]:
    """The batch of the table: that of the rollouts where something differs among them, else ()."""
    return batch if any(source.batch for source in external.sampled.values()) else ()
