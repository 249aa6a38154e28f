"""Dry friction with a memory, for simulations: the deflection z of bristles is a state.

With v the rate of the joint, F(v) its Coulomb and Stribeck friction and s, c, p the stiffness,
damping and exponent of its presliding,

    dz/dt = v r |r|^(p - 1),  r = 1 - s z sign(v) / F(v),    b = s z + c dz/dt

which in steady sliding is F(v) sign(v). A step that evaluates forces once takes dz/dt linearly
implicitly and b at its end, so that z stays within F/s however long the step is. Slopes of b for
implicit steps are the secants from rest: the flat tangents of fast sliding would let a long step
pass through rest and back for ever.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.friction import sliding_friction
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.joints.motors import with_frictions
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction, Presliding
from kinetree.model import Joint, Model
from kinetree.scalars import Scalar, absolute, maximum, power, sign, where


@dataclass(frozen=True)
class Bristle:
    """The bristle of a joint, or of one of its degrees of freedom; dof: its entry of dq."""

    name: str
    joint: Joint
    law: Presliding
    dof: int


def bristles(model: Model) -> list[Bristle]:
    """The bristles of all joints with presliding, in the order of their states."""
    return [
        Bristle(x.name if len(x.dofs) == 1 else model.dof_names[d], x, x.friction.presliding, d)
        for x in model.joints
        if x.friction.presliding is not None
        for d in x.dofs
    ]


@dataclass(frozen=True, eq=False)
class Bristling:
    """Bristles in a state: joint forces b, (n,), rates dz/dt, (k,), and slopes of b by dq, (n,).

    h: length of the step whose forces these are, None: the forces of this moment, without slopes.
    """

    model: Model
    z: Array
    h: Scalar | None
    forces: Array
    rates: Array
    slopes: Array

    @cached_property
    def gains(self) -> Gains:
        """The slopes, for implicit steps."""
        return Gains.of_joints(None, self.slopes)


def bend(model: Model, dq: Array, z: Array, h: Scalar | None = None) -> Bristling:
    """The bristles at joint rates dq, (n,), and deflections z, (k,), over any scalars."""
    unit, rates = np.eye(model.n, dtype=int), list[Scalar]()
    forces = slopes = np.zeros(model.n, int)
    for deflection, bristle in zip(z, bristles(model), strict=True):
        law, scale = bristle.law, bristle.joint.scale
        v = dq[bristle.dof] * scale
        plus, minus = sliding_friction(bristle.joint.friction, v)
        steepness = law.stiffness / where(v, plus, minus)
        ratio = 1 - deflection * steepness * sign(v)
        curve = 1 if law.exponent == 1 else power(absolute(ratio), law.exponent - 1)
        share = ratio * curve
        rate = v * share
        bent = deflection
        if h is not None:
            stretch = 1 + absolute(v) * steepness * curve * law.exponent * h
            rate = rate / stretch
            bent = deflection + rate * h
            slope = (law.stiffness * h + law.damping) * maximum(share, 0) / stretch
            slopes = slopes + unit[bristle.dof] * (slope * (scale * scale))
        rates.append(rate)
        force = bent * law.stiffness + (rate * law.damping if law.damping else 0)
        forces = forces + unit[bristle.dof] * (force * scale)
    return Bristling(model, z, h, forces, np.array(rates), slopes)


def without_bristle_friction(model: Model) -> Model:
    """The robot without the dry friction of joints with presliding, which bristles replace."""
    if not bristles(model):
        return model

    def smooth(x: Friction) -> Friction:
        bare = replace(x, coulomb=(0, 0), stribeck=None, presliding=None)
        return x if x.presliding is None else bare

    return with_frictions(model, smooth)


def refuse_presliding(model: Model, what: str) -> None:
    """Raise InputError if friction of a robot has a memory, which `what` cannot take."""
    for x in bristles(model):
        raise InputError(
            f"the friction of joint {x.joint.name!r} has presliding {type(x.law).__name__}, whose "
            f"deflection is a state that {what} does not know. Take robot.simulate, or "
            "friction without presliding, which sticks and slides: robot.with_friction."
        )
