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
    geometries = {
        g.attributes.get("id", ""): geometry(g)
        for library in root.all("library_geometries")
        for g in library.all("geometry")
    }
    unit, up = asset(root)
    T_file = pose(unit * UP.get(up, np.eye(3)), np.zeros(3))
    known = material_colours(root)
    vertices: list[Array] = []
    triangles: list[Array] = []
    colours: list[Array] = []
    for T, instance in placed(root):
        bound = bound_materials(instance)
        T_total = T_file @ T
        for points, faces, symbol in geometries.get(_link(instance, "url"), ()):
            colour = known.get(bound.get(symbol, symbol), (-1, -1, -1))
            vertices.append(points @ T_total[:3, :3].T + T_total[:3, 3])
            triangles.append(faces.astype(int) + sum(map(len, vertices[:-1])))
            colours.append(np.tile(np.array(colour), (len(faces), 1)))
        if sum(map(len, triangles)) > MAX_TRIANGLES or len(vertices) > MAX_INSTANCES:
            raise ParseError(f"{name} has more than {MAX_TRIANGLES} triangles")
    if not vertices:
        raise ParseError(f"{name} has no geometry in its scene")
    return np.concatenate(vertices), np.concatenate(triangles), np.concatenate(colours)


def _link(element: Element, name: str) -> str:
    """The id in an attribute that refers to another element."""
    return element.attributes.get(name, "").removeprefix("#")


def material_colours(root: Element) -> dict[str, tuple[int, int, int]]:
    """Diffuse colours of the materials by their ids; materials with a texture are left out."""
    effects: dict[str, tuple[int, int, int]] = {}
    for effect in (x for part in root.all("library_effects") for x in part.all("effect")):
        for colour in _below(effect, ("profile_COMMON", "technique", None, "diffuse", "color")):
            r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in values(colour, float)[:3])
            effects[effect.attributes.get("id", "")] = r, g, b
    colours: dict[str, tuple[int, int, int]] = {}
    for material in (x for part in root.all("library_materials") for x in part.all("material")):
        for use in material.all("instance_effect"):
            if _link(use, "url") in effects:
                colours[material.attributes.get("id", "")] = effects[_link(use, "url")]
    return colours


def bound_materials(instance: Element) -> dict[str, str]:
    """Ids of materials by the symbols that a geometry uses for them."""
    uses = _below(instance, ("bind_material", "technique_common", "instance_material"))
    return {x.attributes.get("symbol", ""): _link(x, "target") for x in uses}


def _below(element: Element, tags: tuple[str | None, ...]) -> list[Element]:
    """Elements at the end of a path of tags; None stands for any tag."""
    elements = [element]
    for tag in tags:
        elements = [c for x in elements for c in x.children if tag is None or c.tag == tag]
    return elements


def asset(root: Element) -> tuple[float, str]:
    """Metres per unit, and the axis that points up."""
    unit, up = 1.0, "Y_UP"
    for element in (child for part in root.all("asset") for child in part.children):
        if element.tag == "unit":
            unit = float(element.attributes.get("meter", "1"))
        elif element.tag == "up_axis":
            up = element.text.strip()
    return unit, up


def placed(root: Element) -> Iterator[tuple[Array, Element]]:
    """Pose and instance of every geometry in the first scene; shared nodes are followed."""
    library = {
        node.attributes["id"]: node
        for part in root.all("library_nodes")
        for node in part.all("node")
        if "id" in node.attributes
    }
    scenes = [s for part in root.all("library_visual_scenes") for s in part.all("visual_scene")]
    pending = [(node, np.eye(4), 0) for s in scenes[:1] for node in s.all("node")]
    steps = 0
    while pending:
        node, T_parent, depth = pending.pop()
        steps += 1
        if steps > MAX_INSTANCES or depth > BOUNDS.depth:
            raise ParseError("its scene has too many nodes, or nodes that contain each other")
        T = T_parent @ node_pose(node)
        for child in node.children:
            if child.tag == "instance_geometry":
                yield T, child
            elif child.tag == "node":
                pending.append((child, T, depth + 1))
            elif child.tag == "instance_node":
                shared = library.get(child.attributes.get("url", "").removeprefix("#"))
                if shared is not None:
                    pending.append((shared, T, depth + 1))


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
    positions = {
        source.attributes.get("id", ""): values(array, float)
        for source in mesh.all("source")
        for array in source.all("float_array")
    }
    for vertices in mesh.all("vertices"):
        for entry in vertices.all("input"):
            if entry.attributes.get("semantic") == "POSITION":
                url = entry.attributes.get("source", "").removeprefix("#")
                positions[vertices.attributes.get("id", "")] = (
                    positions[url] if url in positions else positions[""]
                )
    return {key: x[: len(x) // 3 * 3].reshape(-1, 3) for key, x in positions.items()}


def primitive(part: Element, positions: dict[str, Array]) -> tuple[Array, Array]:
    """Corners and triangles of one <triangles>, <polylist> or <polygons>.

    A face of more than three corners becomes a fan of triangles about its first corner.
    """
    inputs = part.all("input")
    stride = 1 + max(int(entry.attributes.get("offset", "0")) for entry in inputs)
    corner = next(entry for entry in inputs if entry.attributes.get("semantic") == "VERTEX")
    points = positions[corner.attributes.get("source", "").removeprefix("#")]
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
