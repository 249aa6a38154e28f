"""Friction of joints and motors: laws that depend on the rate alone.

`kinetree.files.description.friction` has the records that users write, `model/friction.py` checks
them. Friction that grows with the load is no part of the dynamics; `motor_forces` applies it.
"""

import dataclasses
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.motors import at_joints, friction_gains, with_motor_friction
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction, Pair, Stribeck, smooth_laws
from kinetree.model import Model
from kinetree.model.friction import is_symmetric, is_zero
from kinetree.model.inputs import per_dof, per_link, rates
from kinetree.model.quantity import quantity
from kinetree.scalars import absolute, exp, maximum, minimum, power, sign, where

VANISHED = 746.0  # exp of minus this is 0 in float64


def friction_force(friction: Friction, dq: Any) -> Any:
    """b(dq) of one joint: every law of its friction that depends on the rate alone.

    Coefficients that differ by direction are written as mean and half difference, which needs only
    the sign of dq: x_+ for dq > 0, x_- for dq < 0, no Coulomb friction at rest.
    """
    viscous, dry = friction.viscous, sliding_friction(friction, dq)
    direction = 0 if is_symmetric(viscous) and is_zero(dry) else sign(dq)
    # explain: viscous
    force = _mean(viscous) * dq + _half_difference(viscous) * (dq * direction)
    # explain: dry
    force = force + _mean(dry) * direction + _half_difference(dry) * (direction * direction)
    for law in smooth_laws(friction).values():
        force = force + law.force(dq)  # explain: smooth
    if friction.function is not None:
        force = force + friction.function(dq)  # explain: function
    return force


def sliding_friction(friction: Friction, dq: Any) -> Pair:
    """Dry friction of sliding at this rate against dq > 0 and dq < 0; at rest, static friction."""
    low, shape = friction.coulomb, friction.stribeck
    if shape is None:
        return low
    part = stribeck_part(shape, dq)
    plus = low[0] + (shape.static[0] - low[0]) * part
    if is_symmetric(low) and is_symmetric(shape.static):
        return plus, plus
    return plus, low[1] + (shape.static[1] - low[1]) * part


def static_friction(friction: Friction) -> Pair:
    """The most dry friction at rest against dq > 0 and dq < 0."""
    return friction.coulomb if friction.stribeck is None else friction.stribeck.static


def stribeck_part(shape: Stribeck, dq: Any) -> Any:
    """exp(-(|dq| / speed)^exponent): from 1 at rest to 0 at high rates.

    Its slope at rest counts as 0, also for exponents up to 1, where it has none. The power is
    taken of 1 there, and of no more than where exp vanishes: its slope is finite, so that rules of
    derivatives that multiply it by 0 give 0.
    """
    ratio = dq / shape.speed
    if shape.exponent == 2:
        return exp(-(ratio * ratio))
    size = absolute(ratio)
    moving = minimum(where(size, size, 1), VANISHED ** (1 / shape.exponent))
    return where(size, exp(-power(moving, shape.exponent)), 1)


@quantity("dq -> b: n", over="model")
def friction_forces(model: Model, dq: Any) -> Array:
    """Friction of the joints, as the drives must overcome it: b(dq).

    Returns:
        b: joint forces against friction [N m or N].

    Example:
        >>> robot.friction_forces([1, 0.5])
        array([0., 0.])
    """
    refuse_load_friction(model)
    parts = []
    for joint, joint_rates in zip(
        model.joints, per_link(model, rates(model, dq, "dq")), strict=True
    ):
        scale = joint.scale
        force = [friction_force(joint.friction, x * scale) * scale for x in joint_rates]
        parts.append(np.array(force))
    b = per_dof(model, parts)
    return b + motor_friction(model, rates(model, dq, "dq")) if model.motors else b


def motor_friction(model: Model, dq: Array) -> Array:
    """The part of `friction_forces` that the friction of motors adds, (n,)."""
    return at_joints(model, lambda motor: friction_force(motor.friction, motor.rate(dq)))


def friction_slopes(model: Model, dq: Array) -> Array:
    """The diagonal of d b / d dq, (n,), N m s or N s / m; the mean of both sides at rest.

    These are the slopes of joints; `motor_friction_slopes` has those of motors.
    """
    refuse_load_friction(model)
    slopes: list[Any] = [0] * model.n
    for joint in model.joints:
        for d in joint.dofs:
            slope = _slope(joint.friction, dq[d] * joint.scale, joint.scale)
            slopes[d] = slopes[d] + slope * joint.scale
    return np.array(slopes)


def motor_friction_slopes(model: Model, dq: Array, *, falling: bool = True) -> Array:
    """The part of d b / d dq that the friction of motors adds, (n, n).

    falling: with slopes of friction functions that are below 0.
    """

    def slope(friction: Friction, rate: Any) -> Any:
        b = _slope(friction, rate, 1)
        return b if falling or friction.function is None else maximum(b, 0)

    return friction_gains(model, dq, slope)


def _slope(friction: Friction, rate: Any, by: Any) -> Any:
    """Slope of the friction at a rate that changes by `by`; a function is computed on duals."""
    from kinetree.spatial.duals import Dual, dual

    return dual(friction_force(friction, Dual(rate, by))).slope


def refuse_load_friction(model: Model) -> None:
    """Raise InputError if friction of a joint grows with its load: tau is not affine in ddq then.

    Every computation with friction asks this, so that none leaves a loss out in silence.
    """
    for joint in model.joints:
        if is_zero(joint.loss):
            continue
        loss = "load friction"
        if joint.drive is not None and joint.drive.efficiency != 1:
            loss = f"a drive of efficiency {joint.drive.efficiency:g}"
        raise InputError(
            f"joint {joint.name!r} of {model.name!r} has {loss}, with which joint forces are not "
            "affine in the accelerations. Compute with kt.motion.without_load_friction(robot); "
            "kt.motion.motor_forces(robot, tau, dq) then gives the forces of the motors with the "
            "loss."
        )


def frictionless(model: Model) -> Model:
    """The robot without friction of joints and motors."""
    joints = tuple(dataclasses.replace(x, friction=Friction()) for x in model.joints)
    return with_motor_friction(model.replace(joints=joints), lambda _: Friction())


def _mean(pair: tuple[Any, Any]) -> Any:
    return pair[0] if is_symmetric(pair) else (pair[0] + pair[1]) / 2


def _half_difference(pair: tuple[Any, Any]) -> Any:
    return (pair[0] - pair[1]) / 2
