"""URDF files and texts -> records; `read` is the door, `parts` reads elements strictly."""

from kinetree.description.urdf.read import SDF_HINT, read_urdf, read_urdf_text, refuse_arguments

__all__ = ["SDF_HINT", "read_urdf", "read_urdf_text", "refuse_arguments"]
