"""Mesh files: found inside one chosen folder and nowhere else, read as triangles.

Reads STL (binary and text), OBJ and Collada: shapes, and of Collada the plain colours of materials.
Textures and other files are not read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError, ParseError
from kinetree.files.description.collada import read_collada
from kinetree.files.description.source import lies_in, read_bytes
from kinetree.files.description.sources import Sources

MISSING = "does not exist, or is outside the chosen folder"
MAX_MESH = 32 * 2**20  # bytes of one mesh file
MAX_TOTAL = 256 * 2**20  # bytes of all mesh files of a robot
FAR = 1e4  # m; corners further away are an error of units and would make the robot invisible
RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])

# corners (k, 3), triangles (m, 3), and colours (m, 3) or None, of a file's bytes and its name
Reader = Callable[[bytes, str], tuple[Array, Array, Array | None]]


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """A surface of triangles.

    Args:
        vertices: corners, shape (k, 3), m.
        triangles: three corners of each triangle, counter-clockwise, shape (m, 3), indices without
            a unit.
        colours: red, green and blue of each triangle, 0 to 255, shape (m, 3), -1 for triangles
            without a colour of their own; None: no triangle has one.
    """

    vertices: Array
    triangles: Array
    colours: Array | None = None


class MeshFolder:
    """The meshes of one robot: found in `folder`, each read once, limited in their total size.

    source: folder of the robot's file, for relative paths. A file is read only if its real path,
    with all symbolic links resolved, is inside `folder`.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        self.source, self.folder = source.resolve(), folder.resolve()
        self.sources = Sources(self.source / "robot", (self.folder,), variables={})
        self.left = MAX_TOTAL
        self.read: dict[Path, TriangleMesh] = {}

    def load(self, path: str) -> TriangleMesh:
        """Triangles of the mesh at `path`; InputError with the reason if it cannot be read."""
        place = self.find(path)
        if place not in self.read:
            reader = READERS.get(place.suffix.lower())
            if reader is None:
                raise InputError(f"ends with {place.suffix!r}; expected {', '.join(READERS)}")
            try:
                data = read_bytes(place, min(MAX_MESH, self.left))
                self.left -= len(data)
                self.read[place] = read_mesh(reader, data, place.name)
            except ParseError as error:
                raise InputError(str(error)) from None
        return self.read[place]

    def find(self, path: str) -> Path:
        """The real path of the file inside the folder."""
        scheme, separator, _ = path.partition("://")
        if separator and scheme not in ("file", "package", "model"):
            raise InputError(f"has the scheme {scheme[:20]!r}; expected file, package or model")
        try:
            place = self.sources.locate(path.replace("\\", "/"), [self.source, self.folder], "")
            if lies_in(place, (self.folder,)) and place.is_file():
                return place.resolve()
        except (ParseError, OSError, RuntimeError):  # a loop of symbolic links, a name too long
            pass
        raise InputError(MISSING)


def read_mesh(reader: Reader, data: bytes, name: str) -> TriangleMesh:
    """The mesh of a file's bytes, checked: finite corners, triangles of existing corners."""
    try:
        with np.errstate(all="ignore"):  # infinite and NaN corners are refused below
            vertices, triangles, colours = reader(data, name)
    except ParseError:
        raise
    except (ValueError, LookupError, OverflowError, StopIteration) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ParseError(f"{name} cannot be read as a mesh ({reason})") from None
    if not len(triangles):
        raise ParseError(f"{name} has no triangles")
    if not np.isfinite(vertices).all() or np.abs(vertices).max() > FAR:
        raise ParseError(f"{name} has corners that are not finite, or more than {FAR:g} m away")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise ParseError(f"{name} has a triangle with a corner that does not exist")
    if colours is not None and (colours < 0).all():
        colours = None
    return TriangleMesh(vertices, triangles, colours)


def read_stl(data: bytes, name: str) -> tuple[Array, Array, None]:
    """STL: a header of 80 bytes, a count, 50 bytes per triangle; or text, 'vertex x y z' lines."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        corners = np.frombuffer(data, RECORD, count, 84)["corners"].reshape(-1, 3)
    elif data[:5].lower() == b"solid":
        lines = (line.split() for line in data.decode("latin-1").splitlines())
        words = [line[1:4] for line in lines if line and line[0].lower() == "vertex"]
        corners = np.array(words, float).reshape(-1, 3)
        corners = corners[: len(corners) // 3 * 3]
    else:
        raise ParseError(f"{name} is not an STL file: {len(data)} bytes for {count} triangles")
    return *joined(np.asarray(corners, float)), None


def joined(corners: Array) -> tuple[Array, Array]:
    """Corners (3m, 3) of m triangles as shared vertices and triangles (m, 3)."""
    vertices, index = np.unique(corners, axis=0, return_inverse=True)
    return vertices, index.reshape(-1, 3)


def read_obj(data: bytes, name: str) -> tuple[Array, Array, None]:
    """OBJ: 'v x y z' corners and 'f a/b/c ...' faces, cut into fans of triangles."""
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            triangles += fan([_corner(word, len(vertices)) for word in words[1:]])
    return np.array(vertices, float).reshape(-1, 3), np.array(triangles, int).reshape(-1, 3), None


def _corner(word: str, count: int) -> int:
    k = int(word.partition("/")[0])
    return k - 1 if k > 0 else count + k  # negative numbers count from the last corner


def fan(corners: list[int]) -> Iterator[tuple[int, int, int]]:
    """A convex face as triangles about its first corner."""
    for b, c in pairwise(corners[1:]):
        yield corners[0], b, c


READERS: dict[str, Reader] = {".stl": read_stl, ".obj": read_obj, ".dae": read_collada}
