"""Xacro -> the elements of a URDF, without running code of the file."""

from kinetree.description.xacro.expand import Expanded, expand_xacro

__all__ = ["Expanded", "expand_xacro"]
