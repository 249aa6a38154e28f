"""Friction, armature and rotors: the forces that the drives add to the links' dynamics.

A rotor of axial inertia I_m spins at r dq_i about the axis s of its carrier k, on top of the
carrier's own rotation. Beyond what the carrier's locked inertia accounts for, it needs

    on the carrier:  the moment  I_m r (ddq_i s + dq_i omega_k x s)
    at the joint:    the torque  I_m r (s . alpha_k + r ddq_i)

Armature I_a of a joint adds I_a |dq|^2 / 2 to the kinetic energy, with the joint's own rates, and
no weight. The rates of free and planar joints have a linear part v in the axes of the link, which
turn with w; the equations of motion of that energy are those of a point in the parent's axes,

    at the joint:    the moment  I_a dw,    the force  I_a (dv + w x v)

as in MuJoCo, whose rates of a free joint are in the axes of the world. On all other joints armature
needs I_a ddq.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.friction import Sigmoid
from kinetree.description.joints import FREE, PLANAR
from kinetree.errors import InputError
from kinetree.model import WORLD, Joint, JointFriction, JointRotor, Model
from kinetree.model.friction import (
    JointStribeck,
    Pair,
    is_symmetric,
    is_zero,
)
from kinetree.model.inputs import per_dof, per_link, rates, zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result, textbook
from kinetree.scalars import absolute, exp, minimum, power, sign, tanh, where
from kinetree.spatial import cross, skew

VANISHED = 746.0  # exp of minus this is 0 in float64


def friction_force(friction: JointFriction, dq: Any) -> Any:
    """b(dq) of one joint: every law of its friction that depends on the rate alone.

    `load_friction_force` has the friction that depends on the load.

    Coefficients that differ by direction are written as mean and half difference, which needs only
    the sign of dq: x_+ for dq > 0, x_- for dq < 0, no Coulomb friction at rest.
    """
    force = 0
    viscous, dry = friction.viscous, sliding_friction(friction, dq)
    direction = 0
    if not (is_symmetric(viscous) and is_zero(dry)):
        direction = sign(dq)
    if not is_zero(viscous):
        force = force + _mean(viscous) * dq
    if not is_symmetric(viscous):
        force = force + _half_difference(viscous) * (dq * direction)
    if not is_zero(dry):
        force = force + _mean(dry) * direction
    if not is_symmetric(dry):
        force = force + _half_difference(dry) * (direction * direction)
    if friction.sigmoid is not None:
        force = force + sigmoid_force(friction.sigmoid, dq)
    if friction.function is not None:
        force = force + friction.function(dq)
    return force


def sliding_friction(friction: JointFriction, dq: Any) -> Pair:
    """Dry friction of sliding at this rate against dq > 0 and dq < 0; at rest, static friction."""
    low, shape = friction.coulomb, friction.stribeck
    if shape is None:
        return low
    part = stribeck_part(shape, dq)
    plus = low[0] + (shape.static[0] - low[0]) * part
    if is_symmetric(low) and is_symmetric(shape.static):
        return plus, plus
    return plus, low[1] + (shape.static[1] - low[1]) * part


def static_friction(friction: JointFriction) -> Pair:
    """The most dry friction at rest, without load, against dq > 0 and dq < 0."""
    return friction.coulomb if friction.stribeck is None else friction.stribeck.static


def stribeck_part(shape: JointStribeck, dq: Any) -> Any:
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


def sigmoid_force(curve: Sigmoid, dq: Any) -> Any:
    """The sigmoid of Gaz and others (2019), which is zero at rest.

    1 / (1 + exp(-x)) is (1 + tanh(x/2)) / 2, and tanh(x) - tanh(y) is
    tanh(x - y) (1 - tanh(x) tanh(y)). Written like this, nothing overflows, small rates lose no
    digits, and the force has the sign of dq whatever is rounded.
    """
    half = curve.steepness / 2
    force = tanh(dq * half) * (curve.size / 2)
    if isinstance(curve.offset, int | float) and curve.offset == 0:
        return force
    return force * (1 - tanh((dq + curve.offset) * half) * tanh(curve.offset * half))


@labelled("n")
def friction_forces(model: Model, dq: Any) -> Array:
    """Joint forces that overcome friction, shape (n,), N m or N, mimic joints included.

    These are all laws that depend on dq alone. Load friction depends on the forces of the whole
    motion: inverse and forward dynamics have it, b(dq) has not.

    Args:
        model: the robot.
        dq: joint rates, shape (n,), rad/s or m/s.
    """
    parts = []
    for joint, own in zip(model.joints, per_link(model, rates(model, dq, "dq")), strict=True):
        scale = joint.scale
        force = [friction_force(joint.friction, x * scale) * scale for x in own]
        parts.append(np.array(force))
    return per_dof(model, parts)


def load_friction_forces(model: Model, dq: Array, load: Array) -> Array:
    """Load friction of the joints, (n,), N m or N: c |load| sign(dq).

    c is one number if the load drives the joint, load dq > 0, and another if it brakes it.

    Args:
        model: the robot.
        dq: joint rates, shape (n,), rad/s or m/s.
        load: joint forces without any friction, shape (n,), N m or N.
    """
    forces: list[Any] = [0] * model.n
    for d, pair in load_coefficients(model).items():
        forces[d] = load[d] * _load_share(pair, dq[d], load[d])
    return np.array(forces)


def load_factors(model: Model, dq: Array, load: Array) -> Array:
    """d tau/d load of each degree of freedom, (n,): 1 + c if the load drives it, else 1 - c.

    `load` may be tau less the friction that depends on dq alone, which has the same sign.
    """
    factors: list[Any] = [1] * model.n
    for d, pair in load_coefficients(model).items():
        factors[d] = 1 + _load_share(pair, dq[d], load[d])
    return np.array(factors)


def load_of(model: Model, dq: Array, tau: Array) -> Array:
    """The load, (n,), of joint forces tau without the friction that depends on dq alone, (n,).

    Since load friction is below the load if that brakes the joint, tau has the sign of the load,
    and load = tau / (1 + c sign(dq) sign(tau)) needs no iteration.
    """
    return tau / load_factors(model, dq, tau) if load_coefficients(model) else tau


def load_coefficients(model: Model) -> dict[int, Pair]:
    """Coefficients of load friction by degree of freedom, where there is any."""
    rubbing = [joint for joint in model.joints if not is_zero(joint.friction.load)]
    return {d: joint.friction.load for joint in rubbing for d in joint.dofs}


def _load_share(pair: Pair, dq: Any, load: Any) -> Any:
    """Load friction over the load: c with the sign of dq times that of the load."""
    driven = sign(dq) * sign(load)
    share = _mean(pair) * driven
    return share if is_symmetric(pair) else share + _half_difference(pair) * (driven * driven)


def without_load_friction(model: Model) -> Model:
    """The robot without load friction in its joints."""
    if not load_coefficients(model):
        return model
    bare = [dataclasses.replace(x.friction, load=(0, 0)) for x in model.joints]
    pairs = zip(model.joints, bare, strict=True)
    return model.replace(joints=tuple(dataclasses.replace(x, friction=y) for x, y in pairs))


def refuse_load_friction(model: Model, what: str, instead: str) -> None:
    """Raise InputError if a joint has load friction, whose tau is not affine in ddq.

    Args:
        model: the robot.
        what: the computation that cannot have it, the beginning of the message.
        instead: the way out, a sentence.
    """
    rubbing = [joint.name for joint in model.joints if not is_zero(joint.friction.load)]
    if rubbing:
        raise InputError(
            f"{what} needs joint forces that are affine in the accelerations, but joint "
            f"{rubbing[0]!r} of {model.name!r} has friction that grows with its load (as an "
            f"efficiency below 1 does). {instead}"
        )


def frictionless(model: Model) -> Model:
    """The robot without joint friction."""
    joints = tuple(dataclasses.replace(x, friction=JointFriction()) for x in model.joints)
    return model.replace(joints=joints)


def rotor_moments(
    rotors: Sequence[JointRotor], dq: Array, ddq: Array, omega: Mapping[int, Array]
) -> dict[int, Array]:
    """Moment that the rotors on each link need, in {i}; omega is the links' angular velocity."""
    moments: dict[int, Array] = {}
    for rotor in rotors:
        d, k, s = rotor.dof, rotor.link, rotor.s
        if k != WORLD:
            spin = s * ddq[d] + cross(omega[k], s) * dq[d]
            moments[k] = moments.get(k, 0) + spin * (rotor.inertia * rotor.ratio)
    return moments


def rotor_forces(
    model: Model,
    rotors: Sequence[JointRotor],
    dq: Array,
    ddq: Array,
    alpha: Mapping[int, Array],
) -> Array:
    """Joint forces that accelerate the armature of the joints and the rotors, (n,).

    alpha: angular acceleration of every link in the frame in which its rotors are given, and of
    WORLD.
    """
    own = per_link(model, ddq)
    needed = per_dof(model, [own[i] * armature(model, i) for i in model.links])
    tau = list(needed + armature_bias(model, dq))
    for rotor in rotors:
        d, r = rotor.dof, rotor.ratio
        tau[d] = tau[d] + (rotor.s @ alpha[rotor.link] + r * ddq[d]) * (rotor.inertia * r)
    return np.array(tau)


def rotor_inertia(model: Model, J: Array) -> Array:
    """Part of M that the rotors add, (n, n), from the body Jacobians of the links.

    A rotor of degree of freedom e on link k, with b = J_k^T (s, 0), adds
    I_m r (e b^T + b e^T) + I_m r^2 e e^T.
    """
    M = np.zeros((model.n, model.n), int)
    for rotor in model.rotors:
        e = np.eye(model.n, dtype=int)[rotor.dof]
        weight = rotor.inertia * rotor.ratio
        M = M + np.outer(e, e) * (weight * rotor.ratio)
        if rotor.link != WORLD:
            b = rotor.s @ J[rotor.link][:3]
            M = M + (np.outer(e, b) + np.outer(b, e)) * weight
    return M


def rotor_coriolis(model: Model, J: Array, dJ: Array, dq: Array) -> Array:
    """Part of C that the rotors add, (n, n): that of Christoffel for `rotor_inertia`."""
    C = np.zeros((model.n, model.n), int)
    for rotor in model.rotors:
        if rotor.link != WORLD:
            e = np.eye(model.n, dtype=int)[rotor.dof]
            s, J_omega, db = rotor.s, J[rotor.link][:3], rotor.s @ dJ[rotor.link][:3]
            turned = J_omega.T @ skew(s) @ J_omega
            y = -(turned @ dq)  # J^T (omega x s)
            gyroscopic = (np.outer(y, e) - np.outer(e, y) - turned * dq[rotor.dof]) / 2
            C = C + (np.outer(e, db) + gyroscopic) * (rotor.inertia * rotor.ratio)
    return C


def armature(model: Model, i: int) -> Any:
    """Armature of joint i as its degree of freedom sees it (through a mimic joint's scale)."""
    joint = model.joints[i]
    return joint.armature * (joint.scale * joint.scale)


def armature_bias(model: Model, dq: Array) -> Array:
    """Joint forces that armature needs at ddq = 0, (n,); 0 except at free and planar ones."""
    parts = []
    for i, joint in enumerate(model.joints):
        own = dq[list(joint.dofs)]
        turning = turns_armature(joint)
        force = armature_turning(joint, own) * armature(model, i) if turning else zeros(len(own))
        parts.append(force)
    return per_dof(model, parts)


def turns_armature(joint: Joint) -> bool:
    """Return True if armature of the joint needs forces of velocity: w x v of its linear rates."""
    known = isinstance(joint.armature, int | float) and joint.armature == 0
    return joint.type in (FREE, PLANAR) and not known


def armature_turning(joint: Joint, dq: Array) -> Array:
    """(0, w x v) of the joint's own rates, (k,): the force at ddq = 0 for unit armature."""
    A = joint.A
    return A[3:].T @ cross(A[:3] @ dq, A[3:] @ dq)


def armature_coriolis(joint: Joint, dq: Array) -> Array:
    """The skew-symmetric matrix (0, [w]) that times dq gives `armature_turning`, (k, k)."""
    A = joint.A
    return A[3:].T @ skew(A[:3] @ dq) @ A[3:]


def armature_turning_slope(joint: Joint, dq: Array) -> Array:
    """Derivative of `armature_turning` by the joint's rates, (k, k)."""
    A = joint.A
    return armature_coriolis(joint, dq) - A[3:].T @ skew(A[3:] @ dq) @ A[:3]


def _mean(pair: tuple[Any, Any]) -> Any:
    return pair[0] if is_symmetric(pair) else (pair[0] + pair[1]) / 2


def _half_difference(pair: tuple[Any, Any]) -> Any:
    return (pair[0] - pair[1]) / 2


FRICTION_FORCES = Quantity(
    "friction_forces", "dq",
    (Result("b", "n", "joint forces against friction", "N m or N"),),
    "Friction of the joints, as the drives must overcome it: b(dq), without load friction.",
    "b(dq)",
    textbook(friction_forces),
    ("robot.friction_forces([1, 0.5])", "array([0., 0.])"),
)  # fmt: skip
