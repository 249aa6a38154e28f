"""MJCF files -> records, through MuJoCo's own compiler.

The walk: `files` reads the document with its includes as `nodes`; `checks` bounds it; `prepare`
removes everything that names a file; `meshes` compiles it, with the mesh files that an inertia
needs; `links`, `drives` and `notes` make the records.
"""

from kinetree.description.mjcf.read import read_mjcf

__all__ = ["read_mjcf"]
