"""The document as MuJoCo gets it: without names of files, and without what is only drawn.

A mesh that lies in a file becomes a tetrahedron written into the document, of the same name, so
that all references to the mesh stay valid. Whether a body's inertia depends on such a
stand-in is decided later, by compiling with two different ones (meshes.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from kinetree.files.description.contacts import MAX_CELLS
from kinetree.files.description.mjcf.nodes import Node, subtree, with_ancestors

# Sections and elements that never enter dynamics, and attributes that point to them.
DROPPED = frozenset(
    {"visual", "statistic", "size", "custom", "extension", "layer", "lengthrange", "keyframe"}
)
DROPPED_ASSETS = frozenset({"texture", "skin"})
DROPPED_ATTRIBUTES = frozenset({"texture", "usethread", "meshdir", "texturedir", "assetdir"})

# Two shapes of a stand-in, so large that a scale of a thousandth still leaves a volume.
TETRAHEDRON = ((0, 0, 0), (1000, 0, 0), (0, 1000, 0), (0, 0, 1000))
OTHER_SHAPE = ((0, 0, 0), (1500, 0, 0), (0, 1700, 0), (300, 200, 1900))


@dataclass(frozen=True)
class MeshFile:
    """A mesh asset that lies outside the document: its node, its name, its path as MuJoCo reads it.

    The path is None for a mesh that a plugin generates.
    """

    node: Node
    name: str
    path: str | None


MeshKey = tuple[int, str, int, str]  # document, file, line and name: a mesh asset as it is written


def mesh_key(node: Node) -> MeshKey:
    """The key of a <mesh>: the same for the one of the file and for its stand-in."""
    return node.document, node.file, node.line, _asset_name(node)


def mesh_files(nodes: Sequence[Node]) -> dict[MeshKey, MeshFile]:
    """Mesh assets that need a file or a plugin."""
    meshes: dict[MeshKey, MeshFile] = {}
    settings: dict[int, dict[str, str]] = {}
    for node in nodes:
        if node.tag == "compiler":
            settings.setdefault(node.document, {}).update(node.attributes)
    for k, node in enumerate(nodes):
        if not _is_outside_mesh(nodes, k):
            continue
        path = node.attributes.get("file")
        if path is not None:
            options = settings.get(node.document, {})
            folder = options.get("meshdir", options.get("assetdir", ""))
            path = path.replace("\\", "/")
            if options.get("strippath") == "true":
                path = PurePosixPath(path).name
            path = str(PurePosixPath(folder.replace("\\", "/")) / path)
        meshes[mesh_key(node)] = MeshFile(node, _asset_name(node), path)
    return meshes


def prepare(
    nodes: Sequence[Node],
    shape: Sequence[tuple[int, int, int]] = TETRAHEDRON,
    present: Mapping[MeshKey, str] | None = None,
) -> list[Node]:
    """Nodes without files, plugins and appearance.

    Args:
        nodes: the expanded document.
        shape: corners of the stand-in for meshes.
        present: meshes that have been read -> the name under which MuJoCo gets them.
    """
    present = present or {}
    result: list[Node] = []
    skip_until = 0
    for k, (node, around) in enumerate(with_ancestors(nodes)):
        if k < skip_until:
            continue
        if _is_dropped(node, around):
            skip_until = subtree(nodes, k).stop
            continue
        if node.tag == "mesh" and _is_outside_mesh(nodes, k):
            result.append(_stand_in(node, shape, present))
            skip_until = subtree(nodes, k).stop
            continue
        result.append(_cleaned(node, around))
    return result


def _is_outside_mesh(nodes: Sequence[Node], k: int) -> bool:
    if nodes[k].tag != "mesh":
        return False
    inside = subtree(nodes, k)
    return "file" in nodes[k].attributes or any(nodes[i].tag == "plugin" for i in inside)


def _is_dropped(node: Node, around: Sequence[Node]) -> bool:
    outer = around[-1].tag if around else ""
    if node.tag == "texture" or (node.tag in DROPPED_ASSETS and outer in ("asset", "deformable")):
        return True
    if node.tag == "plugin" and outer != "actuator":
        return True
    return node.tag in DROPPED or (node.tag == "config" and outer == "plugin")


def _stand_in(
    node: Node, shape: Sequence[tuple[int, int, int]], present: Mapping[MeshKey, str]
) -> Node:
    name, key = _asset_name(node), mesh_key(node)
    kept = ("class", "scale", "refpos", "refquat", "inertia", "maxhullvert")
    attributes = {"name": name} | {k: v for k, v in node.attributes.items() if k in kept}
    if "class" in attributes:
        attributes["class"] = _class_name(attributes["class"])
    if key in present:
        return replace(node, attributes=attributes | {"file": present[key]})
    corners = " ".join(str(x) for corner in shape for x in corner)
    return replace(node, attributes=attributes | {"vertex": corners, "inertia": "convex"})


def _cleaned(node: Node, around: Sequence[Node]) -> Node:
    """The node without references to dropped elements or to files."""
    tag = node.tag
    if tag == "model" and around and around[-1].tag == "asset":
        return node  # its file is the name under which MuJoCo gets the other document
    attributes = {
        k: v
        for k, v in node.attributes.items()
        if k not in DROPPED_ATTRIBUTES and not k.startswith("file")
    }
    for key in ("class", "childclass"):
        if key in attributes:
            attributes[key] = _class_name(attributes[key])
    if tag == "compiler":
        attributes.pop("strippath", None)
    if tag == "plugin":  # of an actuator: it keeps its place and its transmission
        tag = "general"
        attributes = {k: v for k, v in attributes.items() if k not in ("plugin", "instance")}
        # the plugin decides its force: not a motor whose force is known, any number of states
        attributes |= {"gaintype": "user", "biastype": "user", "dyntype": "user"}
    if tag == "geom" and attributes.get("type") == "sdf":
        attributes["type"] = "mesh"
    if tag == "hfield" and around and around[-1].tag == "asset":
        written = "file" not in attributes and "elevation" in attributes
        whole = written and len(attributes["elevation"].split()) <= MAX_CELLS
        keys = ("name", "size", *(("nrow", "ncol", "elevation") if whole else ()))
        kept = {k: v for k, v in attributes.items() if k in keys}
        kept.setdefault("name", _asset_name(node))
        attributes = kept if whole else kept | {"nrow": "2", "ncol": "2"}
    return replace(node, tag=tag, attributes=attributes)


def _class_name(name: str) -> str:
    """A class name without percent signs: MuJoCo prints an unknown one as a format string."""
    return name.replace("%", "\ufe6a")


def _asset_name(node: Node) -> str:
    """MuJoCo names an asset without name after its file, without folder and extension."""
    file = node.attributes.get("file", "").replace("\\", "/")
    return node.attributes.get("name", PurePosixPath(file).stem)
