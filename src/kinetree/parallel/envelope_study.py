"""Limit envelopes: the loads that the drives of a robot can hold, carry and push in its workspace.

At rest, tau = g(q) + J_v^T f balances the robot's weight while its tool pushes with the force f;
with |tau_j| <= e_j, the effort limits (g has the forces of springs too):

    holding = max_j |g_j| / e_j                    share of the drives that its own weight takes
    payload = max m with |g - m J_v^T gravity| <= e          kg, a point mass at the frame's origin
    force   = min_j (e_j - |g_j|) / |column j of J_v|        N, pushed in any direction
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Unpack

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.labels import vector_by_name
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.model import Model, model_of
from kinetree.model.bounds import bounds_of, with_limits
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import dof_axis
from kinetree.parallel.results import Results
from kinetree.parallel.run import Options, named, run_study
from kinetree.parallel.sampling import AXES, Anywhere, Arguments, Draw, by_joint
from kinetree.robot import Robot


def envelope(
    robot: Robot,
    n: int,
    *,
    q: ArrayLike | Draw | None = None,
    frame: str | None = None,
    effort: ArrayLike | None = None,
    parameters: Mapping[str, ArrayLike | Draw] | None = None,
    **options: Unpack[Options],
) -> Results:
    """Loads that the drives can hold, carry and push at rest, over the workspace or many robots.

    Args:
        robot: the robot.
        n: samples for every point of the grids.
        q: positions, shape (nq,), rad or m, or a distribution such as `Normal`; None: anywhere
            within the limits.
        frame: where the load is; the tool when None.
        effort: limits of the drives, a number or (n,), instead of those of the robot, N m or N.
        parameters: robot data that vary, as in `rollouts`.
        options: see `kinetree.parallel.Options`.

    Returns:
        The drawn values, the position p of the frame in {s}, m, and: holding, the largest share of
        an effort limit that the robot's own weight takes; payload, the largest point mass at the
        frame, kg; force, the largest force there that can be pushed in every direction, N.
    """
    model = model_of(robot)
    without_constraints(model, "envelope")
    data = named(parameters, "parameters")
    settings = {
        "q": Anywhere() if q is None else by_joint(model, "q", q), "frame": frame,
        "effort": vector_by_name(effort, dof_axis(model), "effort"),
        "parameters": {name: by_joint(model, name, x) for name, x in data.items()},
    }  # fmt: skip
    return run_study("envelope", EnvelopeStudy, robot, n, settings, options)


class EnvelopeStudy:
    """One row for each sample: the drawn values, the frame's position, and the three limits."""

    rows = 1

    def __init__(
        self,
        model: Model,
        seed: int,
        repeats: int,
        *,
        q: ArrayLike | Draw,
        frame: str | None,
        effort: ArrayLike | None,
        parameters: Mapping[str, ArrayLike | Draw],
    ) -> None:
        self.effort = with_limits(bounds_of(model), effort=effort).effort
        if not np.isfinite(self.effort).any():
            raise InputError(
                f"{model.name!r} has no effort limits, so nothing bounds what it can hold; give "
                f"effort=, a number or ({model.n},), N m or N."
            )
        self.arguments = Arguments(model, seed, repeats, {"q": q}, {"q": (model.nq,)}, parameters)
        self.own_gravity = np.asarray(model.gravity[3:], float)
        free = self.arguments.parameters
        self.gravity_forces = kernel(model, "gravity_forces", free=free)
        springs = kernel(model, "spring_forces", free=free) if model.springs else None
        self.spring_forces = springs
        self.pose = kernel(model, "pose", frame=frame)
        self.jacobian = kernel(model, "body_jacobian", frame=frame)
        limits = ("holding", "payload", "force")
        self.columns = (*self.arguments.columns, *(f"p:{x}" for x in AXES), *limits)
        self.seconds = 1e-7 * len(self.columns)
        self.size = 8 * (2 * len(self.columns) + 10 * model.n + 64)

    def warm(self) -> None:
        """Compile with one sample."""
        self.compute(np.arange(1))

    def compute(self, samples: Array) -> Array:
        """Rows of the samples, (S, 1, columns)."""
        x = {name: self.arguments(name, samples) for name in self.arguments.values}
        q, S = x["q"], len(samples)
        data = [x[name] for name in self.arguments.parameters]
        g = self.gravity_forces(q, *data)
        if self.spring_forces is not None:
            g = g + self.spring_forces(q, *data)
        T_sb, J_b = self.pose(q), self.jacobian(q)
        R_sb, J_v = T_sb[:, :3, :3], J_b[:, 3:]
        weight = x.get("gravity", np.broadcast_to(self.own_gravity, (S, 3)))  # of 1 kg, in {s}
        weight_b = _sum(R_sb[:, k] * weight[:, k, None] for k in range(3))
        per_kg = -_sum(J_v[:, k] * weight_b[:, k, None] for k in range(3))
        lengths = np.sqrt(_sum(J_v[:, k] * J_v[:, k] for k in range(3)))
        free = np.maximum(self.effort - np.abs(g), 0)
        holding = (np.abs(g) / self.effort).max(axis=-1)
        limits = np.stack([holding, _payload(g, per_kg, self.effort), _ratio(free, lengths)], -1)
        drawn = [x[name].reshape(S, -1) for name in self.arguments.drawn]
        return np.concatenate([*drawn, T_sb[:, :3, 3], limits], -1)[:, None]


def _sum(parts: Iterable[Array]) -> Array:
    """Sum of the parts one by one: the order, and so the bits, do not depend on the batch."""
    return functools.reduce(np.add, parts)


def _payload(g: Array, per_kg: Array, effort: Array) -> Array:
    """Largest m >= 0 with |g + m per_kg| <= effort in every joint; 0 if m = 0 is too much."""
    room = np.where(per_kg >= 0, effort - g, effort + g)
    largest = _ratio(np.maximum(room, 0), np.abs(per_kg))
    return np.where((np.abs(g) <= effort).all(axis=-1), largest, 0.0)


def _ratio(room: Array, need: Array) -> Array:
    """The smallest room / need of the joints; infinite where the need is zero."""
    shares = np.divide(room, need, out=np.full(room.shape, np.inf), where=need > 0)
    return shares.min(axis=-1)
