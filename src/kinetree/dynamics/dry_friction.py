"""Dry friction of joints and motors: its levels, and the equations of motion without it.

The dry friction of a sliding joint is a level times the sign of dq, and at rest any force up to the
most that holds it: in fixed steps it is a row of the step (step_law.py), between adaptive steps a
mode of each joint.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kinetree.core.arrays import Array
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.friction import sliding_friction, static_friction
from kinetree.dynamics.joints.motors import motor_rates, with_frictions
from kinetree.dynamics.joints.presliding import without_bristle_friction
from kinetree.dynamics.tree import Tree
from kinetree.model import Model
from kinetree.model.friction import is_zero
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar, where

# by degree of freedom: the friction against dq > 0 and against dq < 0
CoulombPairs = dict[int, tuple[Any, Any]]


def dry_levels(model: Model, dq: Array) -> CoulombPairs:
    """Dry friction of joints that slide at rates dq, (n,); at rest the most that holds them."""
    varies = any(x.friction.stribeck is not None for x in (*model.joints, *model.motors))
    return dry_friction(model, dq if varies else None)


def dry_friction(model: Model, dq: Array | None = None) -> CoulombPairs:
    """Degrees of freedom with dry friction, and the friction against dq > 0 and dq < 0 by itself.

    A motor with dry friction has the place of one of its joints (`MotorRates`).

    dq: joint rates, (n,); None: at rest, where it is static friction.
    """
    levels: CoulombPairs = {}
    for joint in model.joints:
        for d in joint.dofs:
            pair = static_friction(joint.friction)
            if dq is not None:
                pair = sliding_friction(joint.friction, dq[d] * joint.scale)
            if is_zero(pair):
                continue
            if joint.scale < 0:
                pair = pair[::-1]
            plus, minus = levels.get(d, (0, 0))
            size = abs(joint.scale)
            levels[d] = plus + pair[0] * size, minus + pair[1] * size
    rates = motor_rates(model)
    for d, motor in {} if rates is None else rates.places.items():
        pair = static_friction(motor.friction)
        levels[d] = pair if dq is None else sliding_friction(motor.friction, motor.rate(dq))
    return levels


def dry_dofs(model: Model, varied: Sequence[str] = ()) -> tuple[int, ...]:
    """Degrees of freedom whose dry friction sticks; all if a simulation varies friction.

    Those with presliding alone do not stick.
    """
    if "friction" not in varied:
        return tuple(dry_friction(without_bristle_friction(model)))
    sticking = {d for x in model.joints if x.friction.presliding is None for d in x.dofs}
    return tuple(d for d in range(model.n) if d in sticking)


def smooth_bias(tree: Tree, dq: Array) -> Array:
    """h(q, dq) without dry friction, (n,)."""
    smooth = replace(tree, model=without_dry_friction(tree.model))
    return inverse_dynamics(smooth, dq, zeros(tree.model.n))


def slip(pair: tuple[Any, Any], way: Scalar) -> Scalar:
    """Friction of a sliding joint, with the sign of `way`; 0 if `way` is 0."""
    return where(way, pair[0], where(-way, -pair[1], 0))


def without_dry_friction(model: Model) -> Model:
    """The robot without Coulomb and Stribeck friction in its joints and motors."""
    return with_frictions(model, lambda x: replace(x, coulomb=(0, 0), stribeck=None))
