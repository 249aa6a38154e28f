"""Collada (.dae) files -> triangles with colours, placed as in the file's scene.

XML is read with limits. Of materials, the diffuse colour is read; textures are not.
"""

from collections.abc import Iterator
from functools import reduce
from operator import matmul

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import ParseError
from kinetree.files.description.xml import Bounds, Element, parse_xml
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import rotation

BOUNDS = Bounds(depth=60, elements=200_000, value=32 * 2**20)
MAX_INSTANCES, MAX_TRIANGLES = 10_000, 4_000_000
# rotation from the file's axes to a frame with z up, by the file's up axis
UP = {
    "X_UP": np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
    "Y_UP": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "Z_UP": np.eye(3),
}


def read_collada(data: bytes, name: str) -> tuple[Array, Array, Array]:
    """Corners, triangles and colours of all geometries in the file's scene, in metres, z up."""
    root = parse_xml(data.decode("utf-8", "replace"), name, BOUNDS)
    if root.tag != "COLLADA":
        raise ParseError(f"{name} is not a Collada file: its root is <{root.tag[:40]}>")
    geometries = {_id(g): geometry(g) for g in _below(root, "library_geometries", "geometry")}
    units, axes = _below(root, "asset", "unit"), _below(root, "asset", "up_axis")
    unit = float(units[-1].attributes.get("meter", "1")) if units else 1.0
    up = axes[-1].text.strip() if axes else "Y_UP"
    T_file = pose(unit * UP.get(up, np.eye(3)), np.zeros(3))
    known = material_colours(root)
    vertices: list[Array] = []
    triangles: list[Array] = []
    colours: list[Array] = []
    for T, instance in placed(root):
        bound = _below(instance, "bind_material", "technique_common", "instance_material")
        materials = {x.attributes.get("symbol", ""): _link(x, "target") for x in bound}
        T_total = T_file @ T
        for points, faces, symbol in geometries.get(_link(instance, "url"), ()):
            colour = known.get(materials.get(symbol, symbol), (-1, -1, -1))
            triangles.append(faces.astype(int) + sum(map(len, vertices)))
            vertices.append(points @ T_total[:3, :3].T + T_total[:3, 3])
            colours.append(np.tile(np.array(colour), (len(faces), 1)))
        if sum(map(len, triangles)) > MAX_TRIANGLES or len(vertices) > MAX_INSTANCES:
            raise ParseError(f"{name} has more than {MAX_TRIANGLES} triangles")
    if not vertices:
        raise ParseError(f"{name} has no geometry in its scene")
    return np.concatenate(vertices), np.concatenate(triangles), np.concatenate(colours)


def _id(element: Element) -> str:
    return element.attributes.get("id", "")


def _link(element: Element, name: str) -> str:
    """The id in an attribute that refers to another element."""
    return element.attributes.get(name, "").removeprefix("#")


def _below(element: Element, *tags: str | None) -> list[Element]:
    """Elements at the end of a path of tags; None stands for any tag."""
    elements = [element]
    for tag in tags:
        elements = [c for x in elements for c in x.children if tag is None or c.tag == tag]
    return elements


def material_colours(root: Element) -> dict[str, tuple[int, int, int]]:
    """Diffuse colours of the materials by their ids; materials with a texture are left out."""
    effects: dict[str, tuple[int, int, int]] = {}
    for effect in _below(root, "library_effects", "effect"):
        for colour in _below(effect, "profile_COMMON", "technique", None, "diffuse", "color"):
            r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in values(colour, float)[:3])
            effects[_id(effect)] = r, g, b
    materials = _below(root, "library_materials", "material")
    uses = [(_id(x), _link(use, "url")) for x in materials for use in x.all("instance_effect")]
    return {material: effects[effect] for material, effect in uses if effect in effects}


def placed(root: Element) -> Iterator[tuple[Array, Element]]:
    """Pose and instance of every geometry in the first scene; shared nodes are followed."""
    library = {_id(node): node for node in _below(root, "library_nodes", "node")}
    scenes = _below(root, "library_visual_scenes", "visual_scene")[:1]
    pending = [(node, np.eye(4), 0) for scene in scenes for node in scene.all("node")]
    steps = 0
    while pending:
        node, T_parent, depth = pending.pop()
        steps += 1
        if steps > MAX_INSTANCES or depth > BOUNDS.depth:
            raise ParseError("its scene has too many nodes, or nodes that contain each other")
        T = T_parent @ node_pose(node)
        yield from ((T, child) for child in node.all("instance_geometry"))
        shared = (library.get(_link(x, "url")) for x in node.all("instance_node"))
        inside = [*node.all("node"), *(x for x in shared if x is not None)]
        pending += [(child, T, depth + 1) for child in inside]


def node_pose(node: Element) -> Array:
    """Product of the matrices, translations, rotations and scales of a node, in their order."""
    factors = [np.eye(4)]
    for child in node.children:
        if child.tag == "matrix":
            factors.append(values(child, float).reshape(4, 4))
        elif child.tag == "translate":
            factors.append(pose(np.eye(3), values(child, float)))
        elif child.tag == "rotate":
            *axis, degrees = values(child, float)
            factors.append(pose(rotation(np.array(axis), np.radians(degrees)), np.zeros(3)))
        elif child.tag == "scale":
            factors.append(pose(np.diag(values(child, float)), np.zeros(3)))
    return reduce(matmul, factors)


def geometry(element: Element) -> list[tuple[Array, Array, str]]:
    """Corners (k, 3), triangles (m, 3) and material of the parts of a <geometry>, in its frame."""
    parts: list[tuple[Array, Array, str]] = []
    for mesh in element.all("mesh"):
        positions = sources(mesh)
        for part in mesh.children:
            if part.tag in ("triangles", "polylist", "polygons"):
                parts.append((*primitive(part, positions), part.attributes.get("material", "")))
    return parts


def sources(mesh: Element) -> dict[str, Array]:
    """Arrays of positions by id, and by the id of the <vertices> that refer to them."""
    positions = {_id(x): values(y, float) for x in mesh.all("source") for y in x.all("float_array")}
    for vertices in mesh.all("vertices"):
        for entry in vertices.all("input"):
            if entry.attributes.get("semantic") == "POSITION":
                positions[_id(vertices)] = positions[_link(entry, "source")]
    return {key: x[: len(x) // 3 * 3].reshape(-1, 3) for key, x in positions.items()}


def primitive(part: Element, positions: dict[str, Array]) -> tuple[Array, Array]:
    """Corners and triangles of one <triangles>, <polylist> or <polygons>.

    A face of more than three corners becomes a fan of triangles about its first corner.
    """
    inputs = part.all("input")
    stride = 1 + max(int(entry.attributes.get("offset", "0")) for entry in inputs)
    corner = next(entry for entry in inputs if entry.attributes.get("semantic") == "VERTEX")
    points = positions[_link(corner, "source")]
    offset = int(corner.attributes.get("offset", "0"))
    blocks = [values(p, int)[offset::stride] for p in part.all("p")]
    if part.tag == "triangles":
        index = np.concatenate([*blocks, np.zeros(0, int)])
        return points, index[: len(index) // 3 * 3].reshape(-1, 3)
    if part.tag == "polylist":
        counts = values(part.all("vcount")[0], int)
        blocks = np.split(np.concatenate(blocks), np.cumsum(counts)[:-1])
    fans = [[(b[0], b[k], b[k + 1]) for k in range(1, len(b) - 1)] for b in blocks]
    return points, np.array([t for face in fans for t in face], int).reshape(-1, 3)


def values(element: Element, kind: type) -> Array:
    """The numbers of an element's text."""
    return np.array(element.text.split(), kind)
