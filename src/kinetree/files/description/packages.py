"""Folders of ROS packages, looked up anew for every description: nothing is kept between loads.

A package is a folder with a package.xml; its <name> counts, not the name of the folder. The places
are searched in a fixed order, and the first that has the package is taken:

1. the package that the description itself lies in,
2. each of `folders=`, at any depth,
3. the workspace or repository of the description,
4. AMENT_PREFIX_PATH, by the ament index,
5. ROS_PACKAGE_PATH, at any depth.

Two packages of one name in one place: the one that shares more of its path with the description is
taken and both are named in a note; if neither is nearer, that is an error.

A description may be a stranger's. It may open files only in `Packages.readable`: the package that
it lies in (or its repository, or else its folder), `folders=`, and packages that were found. A link
that leads out of the place where it was found opens nothing, and neither does a folder that is a
package by its name alone and lies outside the repository of the description.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path

from kinetree.core.system import path_in_uri
from kinetree.core.tables import counted
from kinetree.errors import ParseError
from kinetree.files.description.records import Note
from kinetree.files.description.source import (
    decode,
    environment,
    is_confined,
    lies_in,
    path_text,
    read_bytes,
    real_path,
)
from kinetree.files.description.xml import parse_xml

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
IGNORED = ("COLCON_IGNORE", "CATKIN_IGNORE", "AMENT_IGNORE")  # files that take a folder out
SKIPPED = ("node_modules", "__pycache__")
MOST_FOLDERS = 20_000  # that are visited in one place
REPOSITORY = (".git", ".hg", ".svn")
ABOVE_A_PACKAGE = 2  # levels searched beside a package that no repository contains
MANIFEST_SIZE = 2**20


@dataclass
class Place:
    """Packages below one folder, by the names in package.xml, each nearest to the top first."""

    title: str
    root: Path
    depth: int | None = None  # of folders below the root; None is any
    beside: Sequence[Path] = ()  # further folders in which a bare folder may lie
    packages: dict[str, list[Path]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    was_cut: bool = False

    def search(self) -> None:
        """Visit the folders in breadth; links are followed, each real folder once."""
        seen: set[str] = set()
        level, depth = [self.root], 0
        while level and (self.depth is None or depth <= self.depth):
            below: list[Path] = []
            for folder in level:
                real = os.path.realpath(folder)
                if real in seen:
                    continue
                if len(seen) >= MOST_FOLDERS:
                    self.was_cut = True
                    return
                seen.add(real)
                below += self._visit(folder, is_root=depth == 0)
            level, depth = below, depth + 1

    def _visit(self, folder: Path, is_root: bool) -> list[Path]:
        """Record the package of a folder, if it is one; return the folders in it."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            return []
        names = {entry.name for entry in entries}
        if not is_root and not names.isdisjoint(IGNORED):
            return []
        if "package.xml" in names or "manifest.xml" in names:
            name = package_name(folder)
            if name is None:
                self.unreadable.append(str(folder / "package.xml"))
            else:
                self.packages.setdefault(name, []).append(folder)
        return [
            folder / entry.name
            for entry in entries
            if not entry.name.startswith(".") and entry.name not in SKIPPED and _is_folder(entry)
        ]

    def bare(self, name: str) -> list[Path]:
        """Folders of that name without a package.xml: the root, or directly in it."""
        places = dict.fromkeys((self.root, *self.beside))
        folders = [place / name for place in places] + [x for x in places if x.name == name]
        return [x for x in dict.fromkeys(folders) if x.is_dir() and package_name(x) is None]


@dataclass
class Packages:
    """Packages as seen from one description; every choice is recorded in `notes`."""

    file: Path | None  # the description; None for a text, which lies nowhere
    folders: Sequence[str | os.PathLike[str]] = ()
    environment: Mapping[str, str] = field(default_factory=environment)
    notes: list[Note] = field(default_factory=list)
    readable: list[Path] = field(default_factory=list)  # folders that files may be opened in
    _found: dict[str, Path] = field(default_factory=dict)
    _places: dict[str, Place] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.readable += [Path(os.path.abspath(path_text(folder))) for folder in self.folders]
        if self.file is not None:
            self.file = Path(os.path.abspath(path_text(self.file)))
            for file in {self.file, self.file.resolve()}:
                self.readable.append(own_package(file.parent))

    def find(self, name: str, where: str) -> Path:
        """The folder of a package; `where` is the line that asks for it.

        Raises:
            ParseError: no place has the package, or one has two that are equally near.
        """
        if name not in self._found:
            self._found[name] = self._look(name, where)
        return self._found[name]

    def _look(self, name: str, where: str) -> Path:
        if not NAME.fullmatch(name):
            raise ParseError(
                f"{where}: {name[:60]!r} is not the name of a package; expected letters, digits "
                "and underscores."
            )
        for folder in () if self.file is None else folders_above(self.file.parent):
            if package_name(folder) == name:
                return self._take(name, folder, "the description lies in it", where, folder)
        for place in self._trees():
            found = self._nearest(name, place, where)
            if found is not None:
                return found
        found = self._ament(name, where)
        if found is not None:
            return found
        for place in self._ros_package_path():
            found = self._nearest(name, place, where)
            if found is not None:
                return found
        raise ParseError(f"{where}: package {name!r} is not found. {self._searched(name)}")

    def _take(self, name: str, folder: Path, why: str, where: str, place: Path) -> Path:
        """Note the choice of a folder in a place; its files may be opened unless it leads out."""
        self.notes.append(Note(f"package {name!r} is {folder} ({why}).", where))
        is_named = package_name(folder) is not None or place in self.readable
        if lies_in(folder, [place] if is_named else self._repositories()):
            self.readable.append(folder)
        return folder

    def _repositories(self) -> list[Path]:
        above = [] if self.file is None else folders_above(self.file.parent)
        return [folder for folder in above if _is_repository(folder)]

    def _trees(self) -> Iterator[Place]:
        """The places of `folders=`, then the workspace of the description."""
        for folder in self.folders:
            root = Path(os.path.abspath(path_text(folder)))
            yield self._place(f"folder {root}", root)
        if self.file is None:
            return
        root, depth = workspace(self.file.parent)
        above = folders_above(self.file.parent)
        yield self._place(f"workspace {root} of the description", root, depth, above)

    def _ros_package_path(self) -> Iterator[Place]:
        for entry in _entries(self.environment, "ROS_PACKAGE_PATH"):
            yield self._place(f"{entry} of ROS_PACKAGE_PATH", entry)

    def _place(
        self, title: str, root: Path, depth: int | None = None, beside: Sequence[Path] = ()
    ) -> Place:
        """The place, searched when it is first asked for."""
        if title not in self._places:
            self._places[title] = place = Place(title, root, depth, beside)
            place.search()
        return self._places[title]

    def _nearest(self, name: str, place: Place, where: str) -> Path | None:
        """The package of a place that lies nearest to the description; None if it has none."""
        candidates = place.packages.get(name, [])
        why = f"in the {place.title}" if place.title.startswith("work") else f"in {place.title}"
        if not candidates:
            candidates = place.bare(name)
            why += "; by the name of the folder, which has no package.xml"
        if not candidates:
            return None
        near = [self._shared(folder) for folder in candidates]
        best = [
            folder for folder, parts in zip(candidates, near, strict=True) if parts == max(near)
        ]
        if len(best) > 1:
            raise ParseError(
                f"{where}: {counted(len(best), 'package')} in {place.title} are called {name!r}: "
                f"{', '.join(map(str, best[:4]))}. Give the folder of the one that is meant in "
                "folders= of kt.load (--folder on the command line)."
            )
        others = [str(folder) for folder in candidates if folder != best[0]]
        if others:
            why += f"; nearer to the description than {', '.join(others[:4])}"
        return self._take(name, best[0], why, where, place.root)

    def _shared(self, folder: Path) -> int:
        """Number of parts that the paths of a folder and of the description share."""
        parts = () if self.file is None else self.file.parts
        pairs = zip(folder.parts, parts, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _ament(self, name: str, where: str) -> Path | None:
        """The package by the ament index; earlier entries of the path overlay later ones."""
        prefixes = [
            prefix
            for prefix in _entries(self.environment, "AMENT_PREFIX_PATH")
            if (prefix / "share/ament_index/resource_index/packages" / name).is_file()
        ]
        if not prefixes:
            return None
        first, *others = [prefix / "share" / name for prefix in prefixes]
        after = f"; before {', '.join(map(str, others[:3]))}" if others else ""
        return self._take(name, first, f"by the ament index{after}", where, prefixes[0])

    def _searched(self, name: str) -> str:
        """The places that were searched, near names, and the remedy."""
        places = [place.title for place in self._places.values()]
        for key in () if is_confined() else ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"):
            entries = _entries(self.environment, key)
            places.append(f"{key} ({counted(len(entries), 'entry')})" if entries else f"{key} (-)")
        text = f"Searched: {', '.join(places)}."
        for place in self._places.values():
            if place.was_cut:
                text += f" {place.title} was left after {MOST_FOLDERS} folders."
            if place.unreadable:
                text += f" {place.unreadable[0]} has no readable <name>."
        known = {known: path for p in self._places.values() for known, path in p.packages.items()}
        renamed = [f"{paths[0]} is {other!r}" for other, paths in known.items()
                   if any(path.name == name for path in paths)]  # fmt: skip
        near = get_close_matches(name, sorted(known), 2, 0.75)
        if renamed:
            text += f" By its package.xml the folder {renamed[0]}."
        elif near:
            text += f" There is {' and '.join(map(repr, near))}."
        return (
            f"{text} Give a folder that contains the package in folders= of kt.load (--folder on "
            "the command line)."
        )

    def locate(self, path: str, folder: Path, where: str) -> Path:
        """The path that a file reference means.

        Args:
            path: package://NAME/REST, model://NAME/REST, file://PATH, or a plain path.
            folder: the folder that plain relative paths start from.
            where: the line that asks for it.
        """
        scheme, separator, path_there = path.partition("://")
        if not separator:
            return Path(os.path.normpath(folder / real_path(path)))
        if scheme == "file":
            plain = real_path(path_in_uri(path_there.removeprefix("localhost")))
            return Path(os.path.normpath(folder / plain))
        if scheme in ("package", "model"):
            name, _, inside = path_there.lstrip("/").partition("/")
            inside = inside.lstrip("/")  # NAME//REST means NAME/REST, not a path from the root
            # Windows separates folders by backslashes too, and C: leads to another place
            if ".." in re.split(r"[/\\]", inside) or Path(inside).drive:
                raise ParseError(f"{where}: {path[:200]!r} leads out of its package.")
            return self.find(name, where) / inside
        raise ParseError(
            f"{where}: {path[:200]!r} begins with {scheme[:20]!r}; expected a path, package://, "
            "model:// or file://."
        )


def package_name(folder: Path) -> str | None:
    """The <name> in a folder's package.xml, or of a folder with an old manifest.xml; else None."""
    file = folder / "package.xml"
    if not file.is_file():
        return folder.name if (folder / "manifest.xml").is_file() else None
    try:
        root = parse_xml(decode(read_bytes(file, MANIFEST_SIZE), "package.xml"), "package.xml")
        names = [element.value for element in root.all("name")]
    except ParseError:
        return None
    return names[0] if len(names) == 1 and NAME.fullmatch(names[0]) else None


def own_package(folder: Path) -> Path:
    """The package that a folder lies in, or its repository, or else the folder itself."""
    above = folders_above(folder)
    packages = (a for a in above if package_name(a) is not None)
    return next(packages, next((a for a in above if _is_repository(a)), folder))


def workspace(folder: Path) -> tuple[Path, int | None]:
    """The top of the workspace that a folder lies in, and how deep to search below it.

    That is the folder `src` above the repository or package, the repository itself, the folder
    `share` of an installation, or else the folder that contains the package.
    """
    above = folders_above(folder)
    if not above:
        return folder, 0
    repository = next((a for a in above if _is_repository(a)), None)
    package = next((a for a in reversed(above) if (a / "package.xml").is_file()), None)
    inner = repository or package
    if inner is None:
        return above[0], ABOVE_A_PACKAGE
    source = next((a for a in above if a.name == "src" and a in inner.parents), None)
    if source is not None:
        return source, None
    if repository is not None:
        return repository, None
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


def _is_repository(folder: Path) -> bool:
    return any((folder / mark).is_dir() for mark in REPOSITORY)


def _entries(environment: Mapping[str, str], key: str) -> list[Path]:
    parts = environment.get(key, "").split(os.pathsep)
    return [Path(os.path.abspath(part)) for part in parts if part.strip()]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
