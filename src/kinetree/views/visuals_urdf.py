"""Visuals of a URDF: primitives, meshes and colours, read with the hardened reader."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.description.source import decode, read_bytes
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_poses import origin_pose
from kinetree.description.urdf_values import number, numbers, show
from kinetree.description.xacro import expand_xacro
from kinetree.description.xml import Element, parse_xml
from kinetree.errors import ParseError
from kinetree.views.shapes import BODY, Colour
from kinetree.views.visual import Visual


def urdf_visuals(
    file: Path,
    folder: Path,
    folders: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, Any] | None = None,
) -> Iterator[Visual]:
    """The visuals of all links; one that cannot be read is left out.

    `folder` and `folders` are where xacro may find packages, `arguments` those of the xacro file.
    """
    if file.suffix.lower() == ".xacro":
        root = expand_xacro(file, folders or (folder,), arguments).root
    else:
        root = parse_xml(decode(read_bytes(file), file.name), file.name)
    colours = {m.attributes.get("name", ""): _rgba(m) for m in root.all("material")}
    for link in root.all("link"):
        name = link.attributes.get("name", "")
        for element in link.all("visual"):
            try:
                yield from _visual(element, name, colours)
            except ParseError:
                continue


def _visual(element: Element, link: str, colours: dict[str, Colour | None]) -> Iterator[Visual]:
    owner = f"visual of link {show(link)}"
    T = origin_pose(next(iter(element.all("origin")), None), owner, Findings())
    colour = _colour(element, colours)
    for shape in (s for geometry in element.all("geometry") for s in geometry.children):
        if shape.tag == "mesh":
            scale = numbers(shape, "scale", 3, owner, (1.0, 1.0, 1.0))
            path = shape.attributes.get("filename", "")
            yield Visual(link, "mesh", np.asarray(T, float), scale, colour, path)
        elif shape.tag in ("box", "sphere", "cylinder", "capsule"):
            size = _size(shape, owner)
            yield Visual(link, shape.tag, np.asarray(T, float), size, colour)


def _size(shape: Element, owner: str) -> tuple[float, ...]:
    """Size as in Shape; a negative one has no meaning."""
    if shape.tag == "box":
        size = numbers(shape, "size", 3, owner)
    elif shape.tag == "sphere":
        size = (number(shape, "radius", owner),)
    else:
        size = (number(shape, "radius", owner), number(shape, "length", owner))
    return tuple(map(abs, size))


def _colour(element: Element, colours: dict[str, Colour | None]) -> Colour:
    """The colour of a visual's own material, or of the material of that name."""
    for material in element.all("material"):
        found = _rgba(material) or colours.get(material.attributes.get("name", ""))
        if found is not None:
            return found
    return BODY


def _rgba(material: Element) -> Colour | None:
    for colour in material.all("color"):
        try:
            r, g, b, _ = numbers(colour, "rgba", 4, "material")
        except ParseError:
            continue
        r, g, b = (int(255 * min(max(x, 0.0), 1.0)) for x in (r, g, b))
        return r, g, b
    return None
