"""Files of an SDF model: the document and the models that it includes, bounded in number and size.

`model://NAME` is a folder NAME with a model.config or model.sdf. It is searched, in this order, in
each of `folders=` at any depth, beside the folder of the file that includes it, and in the folders
of the environment variables of Gazebo. `file://PATH` and plain paths open a file only in the folder
of the file that names them, or in `folders=`. Every file that is opened lies, by its real path, in
the folder that it was found through: `Files._inside` is the one check. The network is never used.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kinetree.errors import InputError, ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.sdf.parts import text_of
from kinetree.files.description.sdf.versions import NEWEST, Document, document, version_of
from kinetree.files.description.source import (
    MAX_SIZE,
    decode,
    environment,
    is_confined,
    lies_in,
    read_bytes,
)
from kinetree.files.description.urdf.parts import Part
from kinetree.files.description.xml import clip, parse_xml, show

VARIABLES = ("SDF_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
ENDINGS = (".sdf", ".world")
CONFIG, MODEL_FILE = "model.config", "model.sdf"
MOST_FILES = 256
MOST_NESTED = 16  # includes in includes
MOST_FOLDERS = 20_000  # that are visited for one model
SKIPPED = ("node_modules", "__pycache__")
FOLDERS_HINT = "Give a folder that contains it in folders= (--folder on the command line)"
NOTHING_DOWNLOADED = "Nothing is downloaded: download the model, and include it by model://"


class NotFoundError(ParseError):
    """A model that <include> names and that no place has."""


@dataclass
class Files:
    """The files of one robot, and the bounds on them."""

    folders: Sequence[str | os.PathLike[str]]
    findings: Findings
    environment: Mapping[str, str] = field(default_factory=environment)
    count: int = 0
    size: int = 0

    def open(self, path: str | os.PathLike[str], chain: tuple[Path, ...] = ()) -> Document:
        """The document of a file."""
        data = read_bytes(path, MAX_SIZE - self.size)
        self.count, self.size = self.count + 1, self.size + len(data)
        place = Path(path)
        root = parse_xml(decode(data, place.name), place.name)
        return document(root, place.parent, (*chain, place.resolve()))

    def included(self, part: Part, outer: Document) -> Document:
        """The document that an <include> names."""
        uri = text_of(part, "uri")
        if not uri:
            raise part.fault("<include> has no <uri>; expected model://NAME or file://PATH.")
        if self.count >= MOST_FILES or len(outer.chain) > MOST_NESTED:
            raise part.fault(
                f"the file includes more than {MOST_FILES} files, or files in files more than "
                f"{MOST_NESTED} deep."
            )
        path = self._locate(uri, part, outer.folder)
        if path.suffix.lower() not in ENDINGS:
            # any other file may be secret, and an error would show its beginning
            raise part.fault(f"<uri> {show(uri)} is no SDF file; expected {' or '.join(ENDINGS)}.")
        if path.resolve() in outer.chain:
            raise part.fault(f"<uri> {show(uri)} includes the file that it stands in.")
        try:
            return self.open(path, outer.chain)
        except (ParseError, InputError) as error:
            raise part.fault(f"<uri> {show(uri)} cannot be read: {error}") from None

    def _locate(self, uri: str, part: Part, folder: Path | None) -> Path:
        """The file of a URI."""
        if "\0" in uri:
            raise part.fault("<uri> holds a zero character; no file has such a name.")
        scheme, separator, path_there = uri.partition("://")
        if separator and scheme in ("model", "package"):
            return self._model(path_there.strip("/"), part, folder)
        if separator and scheme in ("http", "https"):
            raise NotFoundError(
                str(part.fault(f"<uri> {show(uri)} is not read. {NOTHING_DOWNLOADED}."))
            )
        if separator and scheme != "file":
            raise part.fault(
                f"<uri> {show(uri)} begins with {show(scheme)}; expected model://, file:// or a "
                f"path. {NOTHING_DOWNLOADED}."
            )
        name = path_there.removeprefix("localhost") if separator else uri
        roots = [Path(x) for x in self.folders] + ([] if folder is None else [folder])
        for root in roots[::-1]:
            path = Path(os.path.normpath(root / name))
            if not path.exists() or (is_confined() and not lies_in(path, roots)):
                continue  # a stranger's file does not learn which paths exist elsewhere
            if lies_in(path, roots):
                return self._file_of(path, part, roots) if path.is_dir() else path
            raise part.fault(
                f"<uri> {show(uri)} is {path}, outside the folder of the file. If it is to be "
                f"trusted, give the folder {str(path.parent)!r} in folders= (--folder on the "
                "command line)."
            )
        if not separator and "/" not in name and not Path(name).suffix:
            return self._model(name, part, folder)  # as programs of Gazebo read it
        where = "a text has no folder of its own" if folder is None else f"not in {folder}"
        raise NotFoundError(
            str(part.fault(f"<uri> {show(uri)} is not found: {where}. {FOLDERS_HINT}."))
        )

    def _model(self, name: str, part: Part, folder: Path | None) -> Path:
        """The file of model://NAME, or of model://NAME/FILE."""
        first, _, inside = name.partition("/")
        if not first or ".." in name.split("/"):
            raise part.fault(f"<uri> 'model://{clip(name)}' is not the name of a model.")
        searched: list[str] = []
        given = [Path(x) for x in self.folders] + ([] if folder is None else [folder])
        for title, root, places in self._places(folder):
            matching = [
                place for place in places if place.name == first and _is_model(place, inside)
            ]
            if len(matching) > 1:
                names = ", ".join(map(str, matching[:4]))
                raise part.fault(
                    f"{len(matching)} folders in {title} are called {show(first)}: {names}. "
                    "Give the folder of the one that is meant in folders= (--folder)."
                )
            if matching:
                part.note(f"model {show(first)} is {matching[0]} (in {title}).")
                model = [self._inside(matching[0], [root, *given], part), *given]
                if inside:
                    return self._inside(matching[0] / inside, model, part)
                return self._file_of(matching[0], part, model)
            searched.append(title)
        if not is_confined():
            is_set = any(self.environment.get(x) for x in VARIABLES)
            names = f"{', '.join(VARIABLES)} (not set)"
            searched.append("the folders of Gazebo" if is_set else names)
        raise NotFoundError(
            str(
                part.fault(
                    f"model {show(first)} is not found. Searched: "
                    f"{', '.join(searched)}. {FOLDERS_HINT}."
                )
            )
        )

    def _inside(self, path: Path, roots: Sequence[Path], part: Part) -> Path:
        """The path; refuse one that leads out of the folders, by its real path."""
        if not lies_in(path, roots):
            raise part.fault(
                f"{path} is a link that leads out of {roots[0]}. If it is to be trusted, give the "
                "folder that it leads to in folders= (--folder on the command line)."
            )
        return path

    def _places(self, folder: Path | None) -> Iterator[tuple[str, Path, list[Path]]]:
        """Titles of places, their folders, and the folders in each that may be models."""
        for given in map(Path, self.folders):
            yield f"folder {given}", given, list(_below(given))
        if folder is not None:
            here = Path(os.path.abspath(folder))
            if is_confined():  # all folders that were opened are in `folders`
                return
            near = [here, *_children(here.parent), *_children(here)]
            yield f"{here.parent}", here.parent, near
        for variable in VARIABLES:
            for entry in filter(None, self.environment.get(variable, "").split(os.pathsep)):
                yield f"{entry} of {variable}", Path(entry), _children(Path(entry))

    def _file_of(self, folder: Path, part: Part, roots: Sequence[Path]) -> Path:
        """The newest SDF file that the model.config of a folder lists, or its model.sdf."""
        config = folder / CONFIG
        if not config.is_file():
            return self._inside(folder / MODEL_FILE, roots, part)
        self._inside(config, roots, part)
        root = parse_xml(decode(read_bytes(config), CONFIG), CONFIG)
        listed = [(version_of(x) or (1, 0), x.value) for x in root.all("sdf")]
        listed = [(version, name) for version, name in listed if name]
        if not listed:
            raise part.fault(f"{config} lists no <sdf> file.")
        known = [x for x in listed if x[0] <= NEWEST] or listed
        name = max(known)[1]
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise part.fault(f"{config} names the file {show(name)}, outside its folder.")
        return self._inside(folder / name, roots, part)


def _is_model(folder: Path, inside: str) -> bool:
    if inside:
        return (folder / inside).is_file()
    return (folder / CONFIG).is_file() or (folder / MODEL_FILE).is_file()


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(x for x in folder.iterdir() if x.is_dir())
    except OSError:
        return []


def _below(folder: Path) -> Iterator[Path]:
    """The folder and all folders below it, in breadth; links are not followed further down."""
    level, count = [folder], 0
    while level:
        below: list[Path] = []
        for place in level:
            count += 1
            if count > MOST_FOLDERS:
                return
            yield place
            below += [
                x
                for x in _children(place)
                if not x.name.startswith(".") and x.name not in SKIPPED and not x.is_symlink()
            ]
        level = below
