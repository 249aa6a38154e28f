"""Compile a model whose meshes may be missing: only those that an inertia needs are read.

A body depends on a mesh when its compiled mass, centre or inertia changes with the shape of the
mesh. So the model is compiled with two different stand-ins and compared; the rules of MuJoCo about
defaults, groups and explicit inertias need not be repeated here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import ParseError
from kinetree.files.description.mjcf.compile import Compiled, check_attributes, compile_nodes
from kinetree.files.description.mjcf.files import Files, OutsideError
from kinetree.files.description.mjcf.nodes import Node
from kinetree.files.description.mjcf.prepare import (
    OTHER_SHAPE,
    TETRAHEDRON,
    MeshFile,
    MeshKey,
    mesh_files,
    mesh_key,
    prepare,
)

FORMATS = (".stl", ".obj", ".msh")
MAX_MESHES = 256 * 2**20  # bytes, every copy counted
INERTIAL = ("body_mass", "body_ipos", "body_iquat", "body_inertia")


@dataclass(frozen=True)
class MeshedModel:
    """The compiled model and its mesh files.

    meshes: files by the names of compiled meshes. folders: of every document. unknown: static
    bodies whose mass is unknown, each with the reason.
    """

    compiled: Compiled
    meshes: Mapping[str, MeshFile]
    folders: Sequence[Path]
    unknown: Mapping[int, str] = field(default_factory=dict)


def compile_with_meshes(nodes: Sequence[Node], files: Files) -> MeshedModel:
    """Compile, reading mesh files only for bodies whose inertia comes from them."""
    # 1. all meshes as stand-ins, so that the model compiles without any file
    written = mesh_files(nodes)
    prepared = prepare(nodes)
    check_attributes(prepared)
    compiled = compile_nodes(prepared)
    meshes = _compiled_meshes(compiled, written)
    if not meshes:
        return MeshedModel(compiled, meshes, files.folders)
    # 2. the bodies whose inertia changes with the stand-in, and the meshes of their geoms
    dependent = _dependent(compiled, nodes, {}, {})
    wanted = _meshes_of(compiled, dependent, meshes)
    if not wanted:
        return MeshedModel(compiled, meshes, files.folders)
    # 3. the same with the files that exist; what still depends on a stand-in is missing
    data = _read_meshes(wanted, files)
    if data.present:
        compiled = compile_nodes(prepare(nodes, TETRAHEDRON, data.present), data.assets)
        dependent = _dependent(compiled, nodes, data.present, data.assets)
    missing = {n: mesh for n, mesh in meshes.items() if mesh_key(mesh.node) not in data.present}
    owners = {b: found for b in dependent if (found := _meshes_of(compiled, [b], missing))}
    unknown: dict[int, str] = {}
    for body in sorted(owners):
        mesh = next(iter(owners[body].values()))
        outside = data.outside.get(mesh_key(mesh.node))
        if _moves(compiled, body) or _shares_mass(compiled):
            raise _missing_mesh(compiled, body, mesh, outside)
        unknown[body] = _reason(mesh) if outside is None else f"was not opened: {outside}"
    return MeshedModel(compiled, meshes, files.folders, unknown)


def _compiled_meshes(
    compiled: Compiled, written: Mapping[MeshKey, MeshFile]
) -> dict[str, MeshFile]:
    """Mesh files by the names of compiled meshes; attaching a model renames and copies them."""
    found: dict[str, MeshFile] = {}
    for mesh in compiled.spec.meshes if written else ():
        node = compiled.node_of(mesh)
        file = None if node is None else written.get(mesh_key(node))
        if file is not None:
            found[mesh.name] = file
    return found


def _dependent(
    compiled: Compiled,
    nodes: Sequence[Node],
    present: Mapping[MeshKey, str],
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


def _moves(compiled: Compiled, body: int) -> bool:
    return int(compiled.model.body_weldid[body]) != 0


def _shares_mass(compiled: Compiled) -> bool:
    """Return True for settotalmass, with which every mass depends on every other."""
    return float(compiled.spec.compiler.settotalmass) > 0


@dataclass
class MeshData:
    """Meshes that were read, as assets with their bytes; and the reason why others were not."""

    present: dict[MeshKey, str] = field(default_factory=dict)
    assets: dict[str, bytes] = field(default_factory=dict)
    outside: dict[MeshKey, OutsideError] = field(default_factory=dict)


def _read_meshes(wanted: Mapping[str, MeshFile], files: Files) -> MeshData:
    """The mesh files that exist and may be opened, each read once; copies of a mesh share it."""
    data, copied = MeshData(), 0
    for mesh in wanted.values():
        key = mesh_key(mesh.node)
        if mesh.path is None or not mesh.path.lower().endswith(FORMATS):
            continue
        if key not in data.present and key not in data.outside:
            near = files.places[mesh.node.document, mesh.node.file]
            try:
                path = files.find(mesh.path, near, mesh.node)
            except OutsideError as error:
                data.outside[key] = error
                continue
            if path is None:
                continue
            data.present[key] = f"kinetree_mesh_{len(data.present)}{path.suffix.lower()}"
            data.assets[data.present[key]] = files.read(path, mesh.node)
        copied += len(data.assets.get(data.present.get(key, ""), b""))
        if copied > MAX_MESHES:
            raise ParseError(
                f"{mesh.node.where}: with every copy that <attach> makes, the meshes have more "
                f"than {MAX_MESHES} bytes. Give the bodies an <inertial> of their own."
            )
    return data


def _reason(mesh: MeshFile) -> str:
    """Why a mesh was not read; a file of another kind is not looked for."""
    if mesh.path is None or mesh.path.lower().endswith(FORMATS):
        return "is not there"
    return f"is not read, since its name does not end with {', '.join(FORMATS)}"


def _missing_mesh(
    compiled: Compiled, body: int, mesh: MeshFile, outside: OutsideError | None
) -> ParseError:
    name = compiled.body_names[body]
    node = next((compiled.node_of(b) for b in compiled.spec.bodies if b.id == body), None)
    where = (node or mesh.node).where
    start = f"{where}: body {name!r} takes its inertia from mesh {mesh.name!r}, which"
    if outside is not None:
        return ParseError(f"{start} was not opened: {outside} Or give the body an <inertial>.")
    source = f"lies in the file {mesh.path!r}, and that file {_reason(mesh)}"
    return ParseError(
        f"{start} {'a plugin makes' if mesh.path is None else source}. Put the mesh beside the "
        "model, or give the body an <inertial> of its own."
    )
