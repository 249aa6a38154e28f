"""Sources: the files that one description may open, and where the names in it lead.

A description may be a stranger's. It opens files only in `Sources.readable`: its own folder (or the
package or repository around it), the folders that the caller gives, and the packages and models
that were found. Every path is judged by its real path, all links followed, before it is opened;
nothing is kept between loads, and the network is never used.

A ROS package is a folder with a package.xml, whose <name> counts. A model of Gazebo is a folder
with a model.config or model.sdf, and has the name of the folder. The places are searched in this
order, and the first that has it is taken: the package that the description lies in; each of
`folders=`, at any depth; the workspace or repository of the description; AMENT_PREFIX_PATH, by the
ament index; ROS_PACKAGE_PATH and the variables of Gazebo, at any depth. Of several in one place,
the one that shares more of its path with the description is taken; if none does, that is an error.
A folder that is a package by its name alone opens no file outside `folders=` and the repository of
the description.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import glob
from itertools import takewhile
from pathlib import Path

from kinetree.core.system import path_in_uri
from kinetree.core.text import clip, listing, nearest
from kinetree.errors import ParseError
from kinetree.files.description import source
from kinetree.files.description.records import Note
from kinetree.files.description.xml import Bounds, Element, parse_xml

PATTERN = re.compile(r"[*?[]")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
IGNORED = {"COLCON_IGNORE", "CATKIN_IGNORE", "AMENT_IGNORE"}  # files that take a folder out
MODEL_FILES = ("model.config", "model.sdf")
PACKAGE_FILES = {"package.xml", "manifest.xml", *MODEL_FILES}
SEARCHED = ("ROS_PACKAGE_PATH", "SDF_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
SKIPPED = ("node_modules", "__pycache__")
MOST_FOLDERS = 20_000  # that are visited in one place
MOST_FILES = 256  # with elements, of one description
REPOSITORY = (".git", ".hg", ".svn")
ABOVE_A_PACKAGE = 2  # levels searched beside a package that no repository contains
MANIFEST_SIZE = 2**20
GIVE = "in folders= of kt.load (--folder on the command line)"
DEFAULT = Bounds()


class NotFoundError(ParseError):
    """A file, package or model that no place has, or that lies where nothing may be read."""


class Place:
    """Folders below one folder, in breadth, by the names of the packages that they are.

    depth: of folders below the root; None is any. beside: further folders in which a folder without
    a package.xml may lie.
    """

    def __init__(
        self, title: str, root: Path, depth: int | None = None, beside: Sequence[Path] = ()
    ) -> None:
        self.title, self.root, self.beside = title, root, beside
        self.packages: dict[str, list[Path]] = {}
        for folder, names in folders_below(self.root, depth):
            if not PACKAGE_FILES.isdisjoint(names) and (name := place_name(folder)) is not None:
                self.packages.setdefault(name, []).append(folder)

    def bare(self, name: str) -> list[Path]:
        """Folders of that name without a package.xml of another: the root, or directly in it."""
        places = dict.fromkeys((self.root, *self.beside))
        folders = [place / name for place in places] + [x for x in places if x.name == name]
        return [x for x in dict.fromkeys(folders) if x.is_dir() and place_name(x) in (None, name)]


class Sources:
    """The files of one description.

    file: the description; None for a text, which lies nowhere. near: the folder that its relative
    paths start from. own: whether it may read the package or repository that it lies in, or else
    only its folder. variables: of the environment, with folders of packages and models.
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | None,
        folders: Sequence[str | os.PathLike[str]] = (),
        *,
        own: bool = True,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.file = None if file is None else Path(os.path.abspath(source.path_text(file)))
        self.folders = [Path(os.path.abspath(source.path_text(folder))) for folder in folders]
        self.readable = list(self.folders)
        self.variables = source.environment() if variables is None else variables
        self.notes: list[Note] = []
        self.count, self.size = 0, 0
        self._packages: dict[str, Path] = {}
        self._places: dict[str, Place] = {}
        self.above = [] if self.file is None else folders_above(self.file.parent)
        for x in () if self.file is None else (self.file, self.file.resolve()):
            self.readable.append(own_package(x.parent) if own else x.parent)

    # files

    def read(self, path: Path, limit: int = source.MAX_SIZE) -> bytes:
        """The bytes of a file, all files of the description together bounded."""
        data = source.read_bytes(path, min(limit, source.MAX_SIZE - self.size))
        self.size += len(data)
        return data

    def parse(self, path: Path, label: str, where: str = "", bounds: Bounds = DEFAULT) -> Element:
        """The root of an XML file, called `label` in messages; `where` names it."""
        self.count += 1
        if self.count > MOST_FILES:
            raise ParseError(f"{where}: the robot consists of more than {MOST_FILES} files.")
        return parse_xml(source.decode(self.read(path), label), label, bounds)

    def may_read(self, path: Path) -> bool:
        """Return True if a file lies in a folder that may be read, links followed."""
        try:
            return source.lies_in(path, self.readable)
        except (OSError, RuntimeError, ValueError):  # a loop of links, a name that is not a path
            return False

    def check(self, path: Path, name: str, where: str) -> Path:
        """`path`; NotFoundError if it leads out of the folders that may be read."""
        if self.may_read(path):
            return path
        source.check_inside(path)
        places = ", ".join(map(str, dict.fromkeys(self.readable))) or "none, for a text"
        there = clip(os.path.normpath(path.parent), 200)
        text = f"{clip(name, 200)!r} lies outside the folders that may be read ({places})"
        raise NotFoundError(f"{where}: {text}. To trust it, give the folder {there!r} {GIVE}.")

    def locate(self, name: str, near: Iterable[Path], where: str) -> Path:
        """The path that a name means, which need not exist.

        Args:
            name: package://NAME/REST, model://NAME/REST, file://PATH, or a plain path.
            near: the folders that plain relative paths start from; the first that has the file
                counts.
            where: the line that asks for it.
        """
        if not name or "\0" in name:
            raise ParseError(f"{where}: {clip(name)!r} is no name of a file.")
        scheme, separator, rest = name.partition("://")
        if separator and scheme in ("package", "model"):
            first, inside = in_package(name, where)
            return self.check(self.package(first, where) / inside, name, where)
        if separator and scheme != "file":
            text = f"{clip(name, 200)!r} is no path, file://, package:// or model://"
            raise NotFoundError(f"{where}: {text}; nothing is downloaded.")
        plain = path_in_uri(rest.removeprefix("localhost")) if separator else name
        plain = source.real_path(plain)
        places = [Path(os.sep)] if os.path.isabs(plain) else list(dict.fromkeys(near))
        if not places:
            text = f"{clip(name, 200)!r} is relative, and a text has no folder. Give one {GIVE}."
            raise NotFoundError(f"{where}: {text}")
        paths = [Path(os.path.normpath(place / plain)) for place in places]
        allowed = [path for path in paths if self.may_read(path)]
        there = [path for path in allowed if path.exists()]
        return self.check((*there, *allowed, *paths)[0], name, where)

    def matches(self, pattern: str, folder: Path, where: str) -> list[Path]:
        """The files that a name with *, ? or [ means, from a folder; all may be read."""
        place = self.locate(pattern, [folder], where)
        fixed = takewhile(lambda part: not PATTERN.search(part), place.parts)
        self.check(Path(*fixed), pattern, where)
        return [self.check(path, pattern, where) for path in sorted(map(Path, glob(str(place))))]

    # packages

    def package(self, name: str, where: str) -> Path:
        """The folder of a package; `where` is the line that asks for it.

        Raises:
            ParseError: no place has the package, or one has two that are equally near.
        """
        if name not in self._packages:
            if not NAME.fullmatch(name):
                raise ParseError(f"{where}: {name[:60]!r} is not the name of a package.")
            self._packages[name] = self._found(name, where)
        return self._packages[name]

    def _found(self, name: str, where: str) -> Path:
        for folder in self.above:
            if package_name(folder) == name:
                return self._take(name, folder, "the description lies in it", where, folder)
        for place in self._searched_first():
            if (folder := self._nearest(name, place, where)) is not None:
                return folder
        index = Path("share/ament_index/resource_index/packages") / name
        for prefix in self._entries("AMENT_PREFIX_PATH"):
            if (prefix / index).is_file():
                return self._take(name, prefix / "share" / name, "ament index", where, prefix)
        for key in SEARCHED:
            for entry in self._entries(key):
                place = self._place(f"{entry} of {key}", entry)
                if (folder := self._nearest(name, place, where)) is not None:
                    return folder
        raise NotFoundError(f"{where}: package {name!r} is not found. {self._searched(name)}")

    def _searched_first(self) -> Iterator[Place]:
        """The folders that the caller gave, then the workspace of the description."""
        yield from (self._place(f"folder {root}", root) for root in self.folders)
        if self.file is not None:
            root, depth = workspace(self.file.parent)
            yield self._place(f"workspace {root} of the description", root, depth, self.above)

    def _place(
        self, title: str, root: Path, depth: int | None = None, beside: Sequence[Path] = ()
    ) -> Place:
        """The place, searched when it is first asked for."""
        if title not in self._places:
            self._places[title] = Place(title, root, depth, beside)
        return self._places[title]

    def _nearest(self, name: str, place: Place, where: str) -> Path | None:
        """The package of a place that lies nearest to the description; None if it has none."""
        candidates = place.packages.get(name) or place.bare(name)
        if not candidates:
            return None
        best = self.nearest(candidates)
        if len(best) > 1:
            text = f"packages in {place.title} are called {name!r}: {listing(best, 4)}"
            raise ParseError(f"{where}: {len(best)} {text}. Give the folder that is meant {GIVE}.")
        others = [str(x) for x in candidates if x != best[0]]
        why = f"; nearer to the description than {', '.join(others[:4])}" if others else ""
        if name in place.packages:
            return self._take(name, best[0], f"in {place.title}{why}", where, place.root)
        why = f"in {place.title}; by its name, it has no package.xml{why}"
        return self._take(name, best[0], why, where, best[0].parent)

    def nearest(self, folders: Sequence[Path]) -> list[Path]:
        """Those of some folders whose paths share most parts with that of the description."""
        own = () if self.file is None else self.file.parts
        shared = [
            sum(1 for _ in takewhile(lambda x: x[0] == x[1], zip(y.parts, own, strict=False)))
            for y in folders
        ]
        return [y for y, parts in zip(folders, shared, strict=True) if parts == max(shared)]

    def _take(self, name: str, folder: Path, why: str, where: str, place: Path) -> Path:
        """Note the choice of a folder in a place; its files may be opened unless it leads out."""
        self.notes.append(Note(f"package {name!r} is {folder} ({why}).", where))
        is_named = place_name(folder) is not None or place in self.readable
        if source.lies_in(folder, [place] if is_named else filter(is_repository, self.above)):
            self.readable.append(folder)
        return folder

    def _entries(self, key: str) -> list[Path]:
        parts = self.variables.get(key, "").split(os.pathsep)
        return [Path(os.path.abspath(part)) for part in parts if part.strip()]

    def _searched(self, name: str) -> str:
        """The places that were searched, a near name, and the remedy."""
        places = [place.title for place in self._places.values()]
        if not source.is_confined():
            places += ["AMENT_PREFIX_PATH", *SEARCHED]
        hint = nearest(name, [known for place in self._places.values() for known in place.packages])
        return f"Searched: {', '.join(places)}.{hint} Give a folder that contains it {GIVE}."


def in_package(name: str, where: str) -> tuple[str, str]:
    """Package and path in it of package://NAME/REST or model://NAME/REST."""
    first, _, inside = name.partition("://")[2].lstrip("/").partition("/")
    inside = inside.lstrip("/")  # NAME//REST means NAME/REST, not a path from the root
    # Windows separates folders by backslashes too, and C: leads to another place
    if ".." in re.split(r"[/\\]", inside) or Path(inside).drive:
        raise ParseError(f"{where}: {clip(name, 200)!r} leads out of its package.")
    return first, inside


def folders_below(root: Path, depth: int | None = None) -> Iterator[tuple[Path, set[str]]]:
    """The folder and those below it, in breadth, with the names in each.

    Links are followed, each real folder is visited once, and hidden folders are left out.
    """
    seen: set[str] = set()
    level = [root]
    for k in range(MOST_FOLDERS if depth is None else depth + 1):
        below: list[Path] = []
        for folder in level:
            real = os.path.realpath(folder)
            if real in seen or len(seen) >= MOST_FOLDERS:
                continue
            seen.add(real)
            try:
                with os.scandir(folder) as found:
                    entries = {entry.name: entry.is_dir() for entry in found}
            except OSError:
                continue
            if k and not IGNORED.isdisjoint(entries):
                continue
            yield folder, {*entries}
            names = sorted(name for name, is_folder in entries.items() if is_folder)
            below += [folder / x for x in names if not x.startswith(".") and x not in SKIPPED]
        level = below
        if not level:
            return


def package_name(folder: Path) -> str | None:
    """The <name> in a folder's package.xml, or of a folder with an old manifest.xml; else None."""
    file = folder / "package.xml"
    if not file.is_file():
        return folder.name if (folder / "manifest.xml").is_file() else None
    try:
        root = parse_xml(
            source.decode(source.read_bytes(file, MANIFEST_SIZE), "package.xml"), "package.xml"
        )
        names = [element.value for element in root.all("name")]
    except ParseError:
        return None
    return names[0] if len(names) == 1 and NAME.fullmatch(names[0]) else None


def place_name(folder: Path) -> str | None:
    """The name of a package, or of a model of Gazebo, which is that of its folder; else None."""
    name = package_name(folder)
    if name is None and any((folder / file).is_file() for file in MODEL_FILES):
        return folder.name
    return name


def own_package(folder: Path) -> Path:
    """The package that a folder lies in, or its repository, or else the folder itself."""
    above = folders_above(folder)
    packages = (a for a in above if package_name(a) is not None)
    return next(packages, next(filter(is_repository, above), folder))


def workspace(folder: Path) -> tuple[Path, int | None]:
    """The top of the workspace that a folder lies in, and how deep to search below it.

    That is the folder `src` above the repository or package, the repository itself, the folder
    `share` of an installation, or else the folder that contains the package.
    """
    above = folders_above(folder)
    if not above:
        return folder, 0
    repository = next(filter(is_repository, above), None)
    package = next((a for a in reversed(above) if (a / "package.xml").is_file()), None)
    inner = repository or package
    if inner is None:
        return above[0], ABOVE_A_PACKAGE
    source = next((a for a in above if a.name == "src" and a in inner.parents), repository)
    if source is not None:
        return source, None
    beside = inner.parent
    if beside not in above:
        return inner, None
    isolated = beside.parent.parent  # colcon: install/PACKAGE/share/PACKAGE
    if beside.name == "share" and (isolated / "local_setup.sh").is_file():
        return isolated, ABOVE_A_PACKAGE + 1
    return beside, ABOVE_A_PACKAGE


def folders_above(folder: Path) -> list[Path]:
    """The folder and those above it, up to the home folder or that of temporary files, exclusive.

    Those two and all above them contain too much that has nothing to do with the description.
    """
    temporary = Path(tempfile.gettempdir())
    fences = {Path.home(), temporary, temporary.resolve(), Path(folder.anchor)}
    fences |= {above for fence in fences for above in fence.parents}
    return list(takewhile(lambda a: a not in fences, (folder, *folder.parents)))


def is_repository(folder: Path) -> bool:
    """Return True for the top of a repository of git, hg or svn."""
    return any((folder / mark).is_dir() for mark in REPOSITORY)
