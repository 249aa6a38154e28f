"""Write models as robot files, which read back as the same robot."""

from kinetree.files.write.mjcf import to_mjcf
from kinetree.files.write.urdf import to_urdf

__all__ = ["to_mjcf", "to_urdf"]
