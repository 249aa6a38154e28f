"""Meshes of a URDF: their paths are kept for viewers, the files are looked for only on request."""

import os
from collections.abc import Sequence
from pathlib import Path

from kinetree.description.packages import Packages
from kinetree.description.records import Mesh
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_poses import origin_pose
from kinetree.description.urdf_values import numbers, show
from kinetree.description.xml import Element
from kinetree.errors import ParseError


def read_meshes(element: Element, link: str, findings: Findings) -> list[Mesh]:
    """Mesh files of a link, for viewers; one that cannot be read is only warned about."""
    meshes: list[Mesh] = []
    for shape in element.children:
        if shape.tag not in ("visual", "collision"):
            continue
        for mesh in (m for geometry in shape.all("geometry") for m in geometry.all("mesh")):
            owner = f"{shape.tag} of link {show(link)}"
            try:
                T = origin_pose(next(iter(shape.all("origin")), None), owner, Findings())
                x, y, z = numbers(mesh, "scale", 3, owner, (1.0, 1.0, 1.0))
                path = mesh.attributes.get("filename", "")
            except ParseError as error:
                findings.note(mesh, f"a mesh is skipped, dynamics do not need it: {error}")
                continue
            if path:
                meshes.append(Mesh(link, path, T, (x, y, z), shape.tag))
    return meshes


def find_mesh(
    path: str,
    folder: str | os.PathLike[str],
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> Path | None:
    """The file that a mesh path means; None when there is none.

    `package://NAME/REST` is looked for as NAME/REST in each of the package paths, as REST in a
    package path that is itself called NAME, likewise in the folders above the description, and then
    in the package whose package.xml has the name, see `Packages`.

    Args:
        path: as the description writes it: package://, file:// or a plain path.
        folder: the folder of the description, for relative paths.
        package_paths: folders that hold packages.
    """
    scheme, separator, rest = path.partition("://")
    if not separator:
        candidates = [Path(folder, path)]
    elif scheme == "file":
        candidates = [Path(folder, rest)]
    elif scheme in ("package", "model"):
        above = Path(folder).resolve()
        roots = [*map(Path, package_paths), above, *above.parents]
        package, _, inside = rest.lstrip("/").partition("/")
        if ".." in inside.split("/"):
            return None  # out of the package
        candidates = [root / package / inside for root in roots]
        candidates += [root / inside for root in roots if root.name == package]
        found = next(filter(_is_file, candidates), None)
        return found or _in_package(package, inside, above, package_paths)
    else:
        return None
    return next(filter(_is_file, candidates), None)


def _in_package(
    name: str, inside: str, folder: Path, package_paths: Sequence[str | os.PathLike[str]]
) -> Path | None:
    try:
        path = Packages(folder / "robot", package_paths).find(name, "") / inside
    except ParseError:
        return None
    return path if _is_file(path) else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a path that the system cannot even ask about
        return False
