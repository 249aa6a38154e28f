"""Kinetic energy with the fewest operations."""

from typing import Any

from kinetree.algorithms.lean.inverse_dynamics import inverse_dynamics
from kinetree.algorithms.lean.model import LeanModel
from kinetree.base.arrays import Array
from kinetree.formulations.drives import frictionless
from kinetree.model.inputs import zeros


def kinetic_energy(lean: LeanModel, q: Array, dq: Array) -> Any:
    """dq . (M dq) / 2, where M dq is the inverse dynamics of ddq = dq at rest without gravity."""
    still = frictionless(lean.model).with_gravity(zeros(3))
    bare = LeanModel(still, lean.links, lean.rotors)
    return dq @ inverse_dynamics(bare, q, zeros(lean.model.n), dq) / 2
