"""Visuals: the look that a robot's file gives its links, read anew from the file.

Dynamics do not need it, so no model keeps it. What cannot be drawn is left out with a remark.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.description.source import path_text
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.views.mesh_paths import MeshFolder
from kinetree.views.shapes import Shape, TriangleMesh
from kinetree.views.visual import Visual
from kinetree.views.visuals_mjcf import mjcf_visuals
from kinetree.views.visuals_urdf import urdf_visuals

MAX_VISUALS = 5000


def read_visuals(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    folders: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, Any] | None = None,
) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
    """Visuals of a URDF or MJCF file with their meshes, and remarks about those left out.

    Args:
        source: the file.
        folder: the only folder that meshes are read from; the folder of the file when None.
        folders: folders with the packages of a xacro file.
        arguments: arguments of a xacro file.
    """
    file = Path(path_text(source))
    chosen = file.parent if folder is None else Path(path_text(folder))
    if not chosen.is_dir():
        raise InputError(f"folder is {str(chosen)!r}, which is no folder; meshes lie in one.")
    is_mjcf = file.suffix.lower() in (".xml", ".mjcf")
    found = list(
        mjcf_visuals(file, chosen) if is_mjcf else urdf_visuals(file, chosen, folders, arguments)
    )
    meshes = MeshFolder(file.parent, chosen)
    visuals: list[Visual] = []
    remarks: dict[str, None] = {}  # each once, in order
    for visual in found[:MAX_VISUALS]:
        try:
            visuals.append(_with_mesh(visual, meshes))
        except InputError as error:
            remarks[f"mesh {visual.path[:200]!r} {error}"] = None
    if len(found) > MAX_VISUALS:
        remarks[f"the file has {len(found)} visuals; drawn are the first {MAX_VISUALS}"] = None
    return tuple(visuals), tuple(remarks)


def _with_mesh(visual: Visual, meshes: MeshFolder) -> Visual:
    if visual.kind != "mesh":
        return visual
    mesh, scale = meshes.load(visual.path), np.array(visual.size)
    if np.any(scale != 1):  # a mirrored mesh would be inside out
        triangles = mesh.triangles if scale.prod() > 0 else mesh.triangles[:, ::-1]
        mesh = TriangleMesh(mesh.vertices * scale, triangles)
    return replace(visual, mesh=mesh)


def visual_shapes(model: Model, visuals: tuple[Visual, ...]) -> Iterator[Shape]:
    """Visuals as shapes of the model's links; links merged by fixed joints are frames there."""
    for visual in visuals:
        frame = model.frames.get(visual.link)
        if frame is None:  # the link was cut away from the model
            continue
        T = np.asarray(frame.T_if, float) @ visual.T
        size = () if visual.kind == "mesh" else visual.size
        yield Shape(
            visual.kind, "visual", frame.link, T, size, visual.colour, visual.link, visual.mesh
        )
