"""Compile a model whose meshes may be missing: they are asked for only where an inertia needs them.

A body depends on a mesh when its compiled mass, centre or inertia changes with the shape of the
mesh. So the model is compiled with two different stand-ins and compared; no rule of MuJoCo about
defaults, groups or explicit inertias has to be known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.description.mjcf_compile import Compiled, compile_nodes
from kinetree.description.mjcf_files import Files, find, read_asset
from kinetree.description.mjcf_names import body_names
from kinetree.description.mjcf_nodes import Node
from kinetree.description.mjcf_prepare import (
    OTHER_SHAPE,
    TETRAHEDRON,
    MeshFile,
    mesh_files,
    prepare,
)
from kinetree.errors import ParseError

FORMATS = (".stl", ".obj", ".msh")
INERTIAL = ("body_mass", "body_ipos", "body_iquat", "body_inertia")


@dataclass(frozen=True)
class MeshedModel:
    """The compiled model, its mesh assets by name, and the static bodies whose mass is unknown."""

    compiled: Compiled
    meshes: Mapping[str, MeshFile]
    unknown: frozenset[int] = frozenset()


def compile_with_meshes(nodes: Sequence[Node], files: Files) -> MeshedModel:
    """Compile, reading mesh files only for bodies whose inertia comes from them."""
    meshes = mesh_files(nodes)
    compiled = compile_nodes(prepare(nodes))
    if not meshes:
        return MeshedModel(compiled, meshes)
    dependent = _dependent(compiled, nodes, {}, {})
    wanted = _meshes_of(compiled, dependent, meshes)
    if not wanted:
        return MeshedModel(compiled, meshes)
    present, assets = _read_meshes(wanted, files)
    if present:
        compiled = compile_nodes(prepare(nodes, TETRAHEDRON, present), assets)
        dependent = _dependent(compiled, nodes, present, assets)
    missing = {name: mesh for name, mesh in meshes.items() if name not in present}
    owners = {b for b in dependent if _meshes_of(compiled, [b], missing)}
    for body in sorted(owners):
        if _moves(compiled.model, body) or _shares_mass(compiled):
            raise _missing_mesh(compiled, body, _meshes_of(compiled, [body], missing))
    return MeshedModel(compiled, meshes, frozenset(owners))


def _dependent(
    compiled: Compiled,
    nodes: Sequence[Node],
    present: Mapping[str, str],
    assets: Mapping[str, bytes],
) -> list[int]:
    """Bodies whose inertia differs from the one with the other stand-in."""
    other = compile_nodes(prepare(nodes, OTHER_SHAPE, present), assets).model
    differs = np.zeros(other.nbody, bool)
    for key in INERTIAL:
        one, two = getattr(compiled.model, key), getattr(other, key)
        differs |= np.any((one != two).reshape(other.nbody, -1), axis=1)
    return [int(b) for b in np.flatnonzero(differs)]


def _meshes_of(
    compiled: Compiled, bodies: Sequence[int], meshes: Mapping[str, MeshFile]
) -> dict[str, MeshFile]:
    """Those of `meshes` that geoms of the bodies refer to."""
    chosen = set(bodies)
    return {
        geom.meshname: meshes[geom.meshname]
        for geom in compiled.spec.geoms
        if geom.meshname in meshes and _body_of(compiled, geom) in chosen
    }


def _body_of(compiled: Compiled, geom: Any) -> int:
    """The compiled body of a geom; MuJoCo may have fused the one it was written in."""
    return int(compiled.model.geom_bodyid[geom.id]) if geom.id >= 0 else int(geom.parent.id)


def _moves(model: Any, body: int) -> bool:
    return int(model.body_weldid[body]) != 0


def _shares_mass(compiled: Compiled) -> bool:
    """With settotalmass every mass depends on every other."""
    return float(compiled.spec.compiler.settotalmass) > 0


def _read_meshes(
    wanted: Mapping[str, MeshFile], files: Files
) -> tuple[dict[str, str], dict[str, bytes]]:
    """Meshes that are there: name -> name of the asset, and asset -> bytes."""
    present: dict[str, str] = {}
    assets: dict[str, bytes] = {}
    for name, mesh in wanted.items():
        if mesh.path is None or not mesh.path.lower().endswith(FORMATS):
            continue
        path = find(mesh.path, files.folder / mesh.node.file, files, mesh.node)
        if path is not None:
            present[name] = f"kinetree_mesh_{len(present)}{path.suffix.lower()}"
            assets[present[name]] = read_asset(path, files, mesh.node)
    return present, assets


def _missing_mesh(compiled: Compiled, body: int, meshes: Mapping[str, MeshFile]) -> ParseError:
    mesh = next(iter(meshes.values()))
    name = body_names(compiled.model)[body]
    node = next((compiled.node_of(b) for b in compiled.spec.bodies if b.id == body), None)
    where = (node or mesh.node).where
    source = "a plugin makes" if mesh.path is None else f"lies in the file {mesh.path!r}"
    return ParseError(
        f"{where}: body {name!r} takes its inertia from mesh {mesh.name!r}, which {source}"
        f"{'' if mesh.path is None else ', and that file is not there'}. Put the mesh beside the "
        "model, or give the body an <inertial> of its own."
    )
