"""Contacts with known ground: records that `Robot.with_contacts` takes."""

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
    "HeightField",
    "Plane",
    "stairs",
]
