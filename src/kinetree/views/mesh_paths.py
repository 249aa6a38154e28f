"""The file that a mesh path means, looked for inside one chosen folder and nowhere else."""

from collections.abc import Iterator
from pathlib import Path

from kinetree.description.packages import Packages
from kinetree.description.source import read_bytes
from kinetree.errors import InputError, ParseError
from kinetree.views.mesh_readers import READERS, read_mesh
from kinetree.views.shapes import TriangleMesh

MISSING = "is not there, or not inside the chosen folder"
MAX_MESH = 32 * 2**20  # bytes of one mesh file
MAX_TOTAL = 256 * 2**20  # bytes of all mesh files of a robot


class MeshFolder:
    """The meshes of one robot: found in `folder`, read once each, bounded together.

    source: folder of the robot's file, for relative paths. A path leads to a file only when the
    real place of that file, all links followed, lies in `folder`.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        self.source, self.folder = source.resolve(), folder.resolve()
        self.packages = Packages(self.source / "robot", (self.folder,), {})
        self.left = MAX_TOTAL
        self.read: dict[Path, TriangleMesh] = {}

    def load(self, path: str) -> TriangleMesh:
        """The triangles of the mesh that `path` names; an InputError says why there are none."""
        place = self.find(path)
        if place not in self.read:
            reader = READERS.get(place.suffix.lower())
            if reader is None:
                raise InputError(f"ends with {place.suffix!r}; read are {', '.join(READERS)}")
            try:
                data = read_bytes(place, min(MAX_MESH, self.left))
                self.left -= len(data)
                self.read[place] = read_mesh(reader, data, place.name)
            except ParseError as error:
                raise InputError(str(error)) from None
        return self.read[place]

    def find(self, path: str) -> Path:
        """The real path of the file inside the folder."""
        if "\0" in path:
            raise InputError("holds a zero character")
        for candidate in self._candidates(path.replace("\\", "/")):
            try:
                real = candidate.resolve()
                if real.is_relative_to(self.folder) and real.is_file():
                    return real
            except (OSError, RuntimeError):  # a loop of links, a name too long
                continue
        raise InputError(MISSING)

    def _candidates(self, path: str) -> Iterator[Path]:
        scheme, separator, rest = path.partition("://")
        if not separator:
            yield self.source / path
        elif scheme == "file":
            yield self.source / rest
        elif scheme in ("package", "model"):
            package, _, inside = rest.lstrip("/").partition("/")
            for root in (self.folder, self.source, *self.source.parents):
                yield root / package / inside
                if root.name == package:
                    yield root / inside
            try:  # by the name in package.xml, which need not be that of the folder
                yield self.packages.find(package, "") / inside
            except ParseError:
                return
        else:
            raise InputError(f"has the scheme {scheme[:20]!r}; only files of the folder are read")
