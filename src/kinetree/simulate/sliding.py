"""Dry friction between events: each joint slides one way or sticks, and modes change at once.

Within a mode the equations are smooth, so that a method of high order keeps its order. A sliding
joint whose rate reaches zero, and a held one whose force exceeds its friction, end the mode; then
joints at rest are locked and released again until forces and motions agree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.inputs import zeros
from kinetree.algorithms.lean.inverse_dynamics import recursion
from kinetree.algorithms.lean.mass_matrix import composite
from kinetree.algorithms.lean.model import LeanModel
from kinetree.algorithms.lean.motion import step
from kinetree.arrays import Array
from kinetree.model import Model
from kinetree.scalars import absolute
from kinetree.simulate.stiction import dry_friction, rubbing, slip, solve_in, without_dry_friction


def accelerations_in_mode(
    lean: LeanModel, q: Array, dq: Array, tau: Array, F_ext: Array | None, mode: Array
) -> tuple[Array, Array]:
    """ddq, (n,), and the friction of each joint that has any, (d,).

    mode, (d,): 1 and -1 for the way a joint slides, 0 for one that is held.
    """
    dry = dry_friction(lean.model)
    smooth = LeanModel(without_dry_friction(lean.model), lean.links, lean.rotors)
    steps = [step(link, q) for link in lean.links]
    b = tau - recursion(smooth, steps, dq, zeros(lean.model.n), F_ext)
    M = np.array(composite(lean, steps), dtype=object)
    way = dict(zip(dry, mode, strict=True))
    ddq, rest = solve_in(lean.model, M, b, dry, way, zeros(lean.model.n))
    held = {d: 1 - absolute(way[d]) for d in dry}
    friction = [slip(pair, way[d]) + held[d] * rest[d] for d, pair in dry.items()]
    return ddq, np.array(friction)


@dataclass(frozen=True, eq=False)
class Dry:
    """Which entries of dq rub, and how much friction can give, (B, d) each way."""

    dofs: Array
    plus: Array
    minus: Array

    def guards(self, rows: Array, mode: Array, dq: Array, friction: Array) -> Array:
        """(K, d), negative where a mode has ended."""
        held = np.minimum(self.plus[rows] - friction, friction + self.minus[rows])
        return np.where(mode == 0, held, mode * dq[:, self.dofs])


def dry_of(
    model: Model,
    varied: Sequence[str],
    changes: Sequence[Mapping[str, Any]],
    change: Callable[..., Model],
) -> Dry:
    """The numbers of every rollout; `changes` is what each was given, or one for all.

    varied: data of the robot that change; where friction is among them, zeros rub as well.
    """
    rub = rubbing(model, varied)
    order = dict.fromkeys(d for joint in model.joints for d in joint.dofs if d in rub)
    dofs = np.array(list(order), int)
    rows = [dry_friction(change(model, given)) for given in changes]
    pairs = [[row.get(d, (0.0, 0.0)) for d in order] for row in rows]
    pairs = np.array(pairs, float).reshape(len(rows), -1, 2)
    return Dry(dofs, pairs[..., 0], pairs[..., 1])


def settle_modes(
    dry: Dry,
    row: int,
    dq: Array,
    evaluate: Callable[[Array], tuple[Array, Array]],
) -> Array:
    """Modes, (d,), from the rates of one rollout; evaluate(mode) gives ddq and friction.

    Joints at rest are held first. Those that friction cannot hold are let go, until the rest can
    be; one that would then move against its own force is held after all.
    """
    still = dq[dry.dofs] == 0
    mode = np.where(still, 0.0, np.sign(dq[dry.dofs]))
    for _ in range(len(mode)):
        _, friction = evaluate(mode)
        slips = still & (mode == 0)
        up, down = friction > dry.plus[row], friction < -dry.minus[row]
        new = np.where(slips & up, 1.0, np.where(slips & down, -1.0, mode))
        if (new == mode).all():
            return mode
        mode = new
    ddq, _ = evaluate(mode)
    return np.where(still & (mode * ddq[dry.dofs] < 0), 0.0, mode)
