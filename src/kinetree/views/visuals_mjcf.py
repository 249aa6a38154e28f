"""Visuals of an MJCF file: the geoms that MuJoCo compiles, except planes and height fields."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.description.mjcf_checks import check_nodes
from kinetree.description.mjcf_files import read_document
from kinetree.description.mjcf_meshes import compile_with_meshes
from kinetree.description.mjcf_names import body_names
from kinetree.description.mjcf_records import meshes
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import from_quaternion
from kinetree.views.shapes import Colour
from kinetree.views.visual import Visual

COLLISION_GROUP = 3  # by custom of MuJoCo's viewer, geoms of groups 3 and up are not shown


def mjcf_visuals(file: Path, folder: Path) -> Iterator[Visual]:
    """Primitives in their bodies' frames, and meshes by their paths; includes from `folder` too."""
    nodes, files = read_document(file, (folder,))
    check_nodes(nodes)
    meshed = compile_with_meshes(nodes, files)
    model, types = meshed.compiled.model, meshed.compiled.mujoco.mjtGeom
    bodies = body_names(model)
    for g in range(model.ngeom):
        drawn = primitive(model, g, types)
        if drawn is None or int(model.geom_group[g]) >= COLLISION_GROUP:
            continue
        kind, size = drawn
        T = pose(from_quaternion(model.geom_quat[g]), np.array(model.geom_pos[g]))
        link = bodies[int(model.geom_bodyid[g])]
        yield Visual(link, kind, T, size, _colour(model, g))
    shown = [mesh for mesh in meshes(meshed) if mesh.kind == "visual"]
    for mesh in shown or meshes(meshed):
        yield Visual(mesh.link, "mesh", np.asarray(mesh.T, float), mesh.scale, path=mesh.path)


def primitive(model: Any, g: int, types: Any) -> tuple[str, tuple[float, ...]] | None:
    """Kind and size of geom g as in Shape; MuJoCo keeps half lengths. None for other kinds."""
    a, b, c = (float(x) for x in model.geom_size[g])
    return {
        int(types.mjGEOM_SPHERE): ("sphere", (a,)),
        int(types.mjGEOM_CAPSULE): ("capsule", (a, 2 * b)),
        int(types.mjGEOM_ELLIPSOID): ("ellipsoid", (a, b, c)),
        int(types.mjGEOM_CYLINDER): ("cylinder", (a, 2 * b)),
        int(types.mjGEOM_BOX): ("box", (2 * a, 2 * b, 2 * c)),
    }.get(int(model.geom_type[g]))


def _colour(model: Any, g: int) -> Colour:
    material = int(model.geom_matid[g])
    rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
    r, g_, b = (int(255 * min(max(float(x), 0.0), 1.0)) for x in rgba[:3])
    return r, g_, b
