"""Gradients of inverse kinematics by T, for torch and JAX, by the implicit function theorem.

At a solution, a change of the target by a twist V changes q by J^+ V: the least one, without joints
that stand at a limit. One step of Newton's method with a constant J^+ has that derivative,

    q(T) = q* + J^+ e(T),    e(T) = (log(R*^T R), R*^T (p - p*)),

and changes nothing at T itself, where e is 0.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.bounds import Bounds
from kinetree.motion.kinematics.result import IKResult

Solve = Callable[[Array], IKResult]
CUTOFF = 1e-8  # of singular values of J: directions below it do not follow the target


def package_of(T: object) -> str:
    """The package of a tensor, torch or jax; empty for anything else."""
    for name, kind in (("torch", "Tensor"), ("jax", "Array")):
        module = sys.modules.get(name)
        if module is not None and isinstance(T, getattr(module, kind)):
            return name
    return ""


def with_gradient(
    model: Model, T: Any, frame: str | None, bounds: Bounds, solve: Solve, package: str
) -> IKResult:
    """The result for a tensor T, whose q has the derivative by T."""
    if T.shape[-2:] != (4, 4) and T.shape[-1:] != (3,):
        raise InputError(f"T has shape {tuple(T.shape)}; expected poses or positions.")
    if model.nq != model.n:
        raise InputError(
            f"{model.name!r} has joints with several degrees of freedom, and q no derivative by T "
            "as a vector; pass T as an array of NumPy."
        )
    rows = slice(None) if T.shape[-2:] == (4, 4) else slice(3, None)

    def numbers(T: Any) -> tuple[Any, ...]:
        found = solve(np.asarray(T, float))
        place = kernel(model, "pose", frame=frame)(found.q)
        J = kernel(model, "body_jacobian", frame=frame)(found.q)[..., rows, :]
        x = found.q[..., bounds.coords]
        held = (bounds.coords >= 0) & ((x <= bounds.lower) | (x >= bounds.upper))
        J_inv = np.linalg.pinv(np.where(held[..., None, :], 0, J), rcond=CUTOFF)
        return found, (place[..., :3, :3], place[..., :3, 3], J_inv)

    if package == "torch":
        import torch

        found, arrays = numbers(T.detach().cpu().numpy())
        R, p, J_inv = (torch.as_tensor(x).to(T) for x in arrays)
        q = torch.as_tensor(found.q).to(T)
        return replace(found, q=q + _step(torch, T, R, p, J_inv))
    return _by_jax(T, model, numbers)


def _step(xp: Any, T: Any, R: Any, p: Any, J_inv: Any) -> Any:
    """J^+ e(T), (..., n)."""
    is_pose = T.shape[-2:] == (4, 4)
    away = (T[..., :3, 3] if is_pose else T) - p
    e = [xp.einsum("...j,...j->...", R[..., :, k], away) for k in range(3)]
    if is_pose:
        D = xp.einsum("...ji,...jk->...ik", R, T[..., :3, :3])
        turns = [(D[..., i, j] - D[..., j, i]) / 2 for i, j in ((2, 1), (0, 2), (1, 0))]
        e = [*turns, *e]
    return xp.einsum("...nk,...k->...n", J_inv, xp.stack(e, -1))


def _by_jax(T: Any, model: Model, numbers: Callable[[Any], tuple[Any, ...]]) -> IKResult:
    """The same under the transformations of JAX, which calls the solver back."""
    import jax

    rows, lead = (6, T.shape[:-2]) if T.shape[-2:] == (4, 4) else (3, T.shape[:-1])
    shapes = [(model.nq,), (), (), (), (), (3, 3), (3,), (model.n, rows)]
    types = [T.dtype, bool, T.dtype, T.dtype, np.int32, *[T.dtype] * 3]

    def host(T: Any) -> tuple[Array, ...]:
        found, arrays = numbers(T)
        names = ("q", "reached", "position_error", "rotation_error", "restarts")
        every = [*(getattr(found, x) for x in names), *arrays]
        return tuple(np.asarray(x, kind) for x, kind in zip(every, types, strict=True))

    wanted = [jax.ShapeDtypeStruct(lead + shape, kind)
              for shape, kind in zip(shapes, types, strict=True)]  # fmt: skip
    results = jax.pure_callback(host, tuple(wanted), jax.lax.stop_gradient(T))
    q, *others, R, p, J_inv = map(jax.lax.stop_gradient, results)
    return IKResult(q + _step(jax.numpy, T, R, p, J_inv), *others)
