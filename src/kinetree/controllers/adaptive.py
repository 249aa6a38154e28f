"""Adaptive control (Slotine and Li): the masses of the links are learnt while the robot moves.

With s = dq - dq_r, dq_r = dq_d + lam e and the regressor Y of M ddq_r + C dq_r + g = Y theta,

    tau = Y theta_hat - kd s,    d theta_hat/dt = -gamma Y^T s

the error dies out whatever the masses are. Y itself is never formed: the recursion of
`dynamics/regressor.py` computes Y theta and Y^T s.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kinetree.controllers.terms import (
    Following,
    RobotLike,
    gain,
    model_for,
    motion,
    position_error,
)
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.dynamics.coriolis_matrix import coriolis_matrix
from kinetree.dynamics.joints.friction import (
    friction_forces,
)
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.lean import LeanModel, lean_model, lean_tree
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.parameters import LINK, ParameterLayout
from kinetree.dynamics.regressor import numbers_of, reference_forces
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.scalars import Scalar
from kinetree.simulate.core.controller import NamedFields, Reference, SignalValues
from kinetree.spatial.inertia import Moments


@dataclass(frozen=True, eq=False)
class Adaptive(Following):
    """Follow a reference with ten estimated numbers for each link: mass, first and second moments.

    Friction, springs, armature and rotors are taken as known. The estimates are the controller's
    state, (10 l,), in the lean frames of the robot.

    Args:
        reference: positions to follow, as in `PD`.
        lam: rate at which the error decays, 1/s: a number, a diagonal of shape (n,), or a matrix
            (n, n).
        kd: gain of the rate of the error, N m s/rad or N s/m: a number, a diagonal of shape (n,),
            or a matrix (n, n).
        gamma: rate of adaptation, a number, shape (10,) or (l, 10), in units of the parameter
            squared per J.
        guess: the robot whose masses are the first estimate; None: zero.
    """

    named_fields: ClassVar[NamedFields] = {
        "reference": coordinate_axis,
        "lam": dof_axis,
        "kd": dof_axis,
    }

    reference: Reference
    lam: ArrayLike
    kd: ArrayLike
    gamma: ArrayLike
    guess: RobotLike | None = None

    def start(self, model: Model) -> Array:
        """Return the first estimates, (10 links,).

        Args:
            model: the robot.
        """
        if self.guess is None:
            return np.zeros(ParameterLayout(len(model.links)).bodies)
        return moments(model_for(self.guess, model, "Adaptive")).ravel()

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        model_for(self.guess, model, "Adaptive")
        links = len(model.links)
        q_d, dq_d, ddq_d = motion(model, given)
        lam, kd = gain(self.lam, model.n, "lam"), gain(self.kd, model.n, "kd")
        dq_r = dq_d + lam @ position_error(model, q, q_d)
        ddq_r, s = ddq_d + lam @ (dq_d - dq), dq - dq_r
        tree = lean_tree(bare(model), q)
        tau, share = reference_forces(tree, dq, dq_r, ddq_r, z.reshape(links, -1), s)
        known = drives(tree, dq, dq_r, ddq_r) + friction_forces(model, dq)
        known = known + Springs(model, q).at(dq) if model.springs else known
        dz = -(share * self._gamma(links)).ravel()
        return tau + known - kd @ s, dz

    def _gamma(self, links: int) -> Array:
        refuse_labels(self.gamma, "gamma")
        gamma, shape = np.asarray(self.gamma, float), (links, len(LINK))
        if gamma.shape not in ((), shape[1:], shape) or not (gamma >= 0).all():
            raise InputError(
                f"gamma has shape {gamma.shape}; expected a number, {shape[1:]} or {shape}, all "
                ">= 0."
            )
        return np.broadcast_to(gamma, shape)


def moments(model: Model) -> Array:
    """The true numbers of a robot, (links, 10), in its lean frames: the goal of the estimates."""
    return np.array([numbers_of(x.body) for x in lean_model(model, regrouped=False).links], float)


def bare(model: Model) -> LeanModel:
    """The lean frames of a robot without the masses of its links."""
    nothing = Moments(0, np.zeros(3, int), np.zeros((3, 3), int))
    weightless = model.replace(
        m=np.zeros(len(model.links)),
        com=np.zeros((len(model.links), 3)),
        I_com=np.zeros((len(model.links), 3, 3)),
    )
    lean = lean_model(weightless, regrouped=False)
    return replace(lean, links=tuple(replace(x, body=nothing) for x in lean.links))


def drives(tree: Tree, dq: Array, dq_r: Array, ddq_r: Array) -> Array | int:
    """Joint forces for armature, rotors and motors, which are known."""
    if len(tree.links) == len(tree.model.links):
        return 0
    return mass_matrix(tree) @ ddq_r + coriolis_matrix(tree, dq) @ dq_r
