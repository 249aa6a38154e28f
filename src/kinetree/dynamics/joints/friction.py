"""Friction of joints and motors: laws that depend on the rate alone.

`kinetree.files.description.friction` has the records that users write, `model/friction.py` checks
them. Friction that grows with the load is no part of the dynamics; `motor_forces` applies it.
"""

from typing import Any

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.gains import Arms, arm_forces, arm_gains, arm_rate
from kinetree.dynamics.joints.motors import at_joints, with_frictions
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction, Pair, Stribeck, smooth_laws
from kinetree.model import Model
from kinetree.model.friction import is_symmetric, is_zero
from kinetree.model.inputs import rates
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
    dq = rates(model, dq, "dq")
    parts = ((arms, friction_force(x, arm_rate(arms, dq))) for arms, x in rubbing(model))
    return arm_forces(model.n, parts)


def rubbing(model: Model) -> list[tuple[Arms, Friction]]:
    """Friction of joints and motors, each with the arms of what rubs."""
    refuse_load_friction(model)
    joints = [({d: x.scale}, x.friction) for x in model.joints for d in x.dofs]
    return [*joints, *((x.arm_of_dof, x.friction) for x in model.motors)]


def motor_friction(model: Model, dq: Array) -> Array:
    """The part of `friction_forces` that the friction of motors adds, (n,)."""
    return at_joints(model, lambda motor: friction_force(motor.friction, motor.rate(dq)))


def friction_slopes(model: Model, dq: Array, *, falling: bool = True) -> Array:
    """d b / d dq, (n, n), N m s or N s / m; the mean of both sides at rest.

    falling: with slopes of friction functions that are below 0.
    """
    from kinetree.spatial.duals import Dual, dual

    def slope(friction: Friction, rate: Any) -> Any:
        b = dual(friction_force(friction, Dual(rate, 1))).slope
        return b if falling or friction.function is None else maximum(b, 0)

    parts = ((arms, slope(x, arm_rate(arms, dq))) for arms, x in rubbing(model))
    return arm_gains(model.n, parts)


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
    return with_frictions(model, lambda _: Friction())


def _mean(pair: tuple[Any, Any]) -> Any:
    return pair[0] if is_symmetric(pair) else (pair[0] + pair[1]) / 2


def _half_difference(pair: tuple[Any, Any]) -> Any:
    return (pair[0] - pair[1]) / 2
