"""Contacts with known ground: records that `Robot.with_contacts` takes, forces."""

from kinetree.dynamics.contacts.inverse import GroundForces
from kinetree.dynamics.contacts.start import on_ground
from kinetree.engine.kernels.contacts import contact_inverse_dynamics as inverse_dynamics
from kinetree.explain.contacts import explain_contact as explain
from kinetree.files.description.contacts import (
    Box,
    Boxes,
    Contact,
    ContactPoint,
    ContactRim,
    Contacts,
    Ground,
    HeightField,
    Plane,
    stairs,
)

__all__ = [
    "Box",
    "Boxes",
    "Contact",
    "ContactPoint",
    "ContactRim",
    "Contacts",
    "Ground",
    "GroundForces",
    "HeightField",
    "Plane",
    "explain",
    "inverse_dynamics",
    "on_ground",
    "stairs",
]
