"""The shelf of the workbench: robots that are open, by id, and uploads read in a private folder.

A built-in robot has its name as its id, an upload a hash of its files, so the same request gives
the same robot whenever and however often it comes.
"""

import base64
import binascii
import gc
import hashlib
import os
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kinetree import robots
from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, nearest
from kinetree.engine.kernels.memo import Recent
from kinetree.errors import InputError, KinetreeError, KinetreeWarning, NameLookupError, ParseError
from kinetree.files.description.records import Note
from kinetree.files.description.source import only_inside
from kinetree.files.loading import ROBOT_FILES, load
from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.views.page.stage import Stage, stage_of
from kinetree.views.poses import standing
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene
from kinetree.views.workbench.state import Request, number, numbers, record, sequence, text

BUILT_IN = (*robots.TREES, *robots.MECHANISMS)
GIVEN = "given"  # id of the robot that the workbench was started with
UPLOAD_BYTES = 64 << 20  # of all files of an upload
MAX_FILES = 400
MAX_ROBOTS = 24  # that are kept open; the one that was not used for longest goes first
MAX_SIZE = 200  # degrees of freedom and links: readings of more take seconds
LONGEST_NAME, DEEPEST = 200, 8  # characters, and folders, of the name of an uploaded file
FORBIDDEN = re.compile(r'[\x00-\x1f<>:"|?*]')  # characters that no name of a file should have


@dataclass(frozen=True, eq=False)
class Opened:
    """A robot that is open: its stage, and the file or name that it came from."""

    id: str
    robot: Robot
    stage: Stage
    source: str


class Shelf:
    """All robots that are open, and the folder for uploads, which `close` removes."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kinetree-"))
        self.closing = threading.Event()  # set when the workbench ends
        self.stopping = threading.Event()  # set when the user ends a run
        self.given: Opened | None = None
        self._robots: Recent[Opened] = Recent(MAX_ROBOTS)

    def close(self) -> None:
        """End long requests and remove the folder of the uploads."""
        self.closing.set()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ended(self) -> bool:
        """Whether runs are to end now."""
        return self.closing.is_set() or self.stopping.is_set()

    def give(self, robot: Robot, drawn: Scene | None, source: str) -> Opened:
        """Put the robot that the workbench starts with on the shelf."""
        check_size(robot.model)
        self.given = Opened(GIVEN, robot, stage_of(robot, drawn=drawn), source)
        return self.given

    def find(self, key: str) -> Opened:
        """The robot of an id; built-in robots are opened when they are asked for."""
        if key == GIVEN and self.given is not None:
            return self.given
        if key in BUILT_IN:
            return self._kept(key, lambda: built_in(key))
        opened = self._robots.get(key)
        if opened is None:
            raise NameLookupError(
                f"the robot {key[:60]!r} is not open here any more, or there is no built-in robot "
                f"of that name.{nearest(key, BUILT_IN)} Open it again."
            )
        return opened

    def upload(self, files: object, main: object) -> Opened:
        """Open the robot of uploaded files; the files are removed when it is read."""
        contents = read_files(files)
        chosen = main_file(contents, main)
        digest = hashlib.sha256(chosen.encode())
        for name in sorted(contents):
            digest.update(f"\0{name}\0{len(contents[name])}\0".encode() + contents[name])
        key = f"upload-{digest.hexdigest()[:24]}"
        return self._kept(key, lambda: read_upload(key, contents, chosen, self.folder))

    def robot(self, request: Request) -> Robot:
        """The robot of a request, with the gravity and the payload that it asks for."""
        opened = self.find(text(request.get("robot"), "robot"))
        gravity, payload = request.get("gravity"), request.get("payload")
        if gravity is None and payload is None:
            return opened.robot
        g = None if gravity is None else numbers(gravity, "gravity", tuple("xyz"))
        mass, com = (0.0, None) if payload is None else read_payload(payload)
        wanted = (opened.id, g is not None and tuple(g), mass, com is not None and tuple(com))

        def make() -> Opened:
            changed = opened.robot if g is None else opened.robot.with_gravity(g)
            return replace(
                opened, robot=changed if com is None else changed.with_payload(mass, com)
            )

        return self._kept(wanted, make).robot

    def _kept(self, key: Hashable, make: Callable[[], Opened]) -> Opened:
        """The robot of a key, made now if it is not open; others that were not used are dropped."""
        before, opened = set(self._robots), self._robots.find(key, make)
        if not before <= set(self._robots):
            gc.collect()  # a robot that was dropped and its kernels refer to each other
        return opened


def built_in(name: str) -> Opened:
    """A built-in robot, opened; those with legs stand on the ground."""
    robot = standing(getattr(robots, name)())
    return Opened(name, robot, stage_of(robot), name)


def check_size(model: Model) -> None:
    """Raise InputError if a robot is too large for answers within a second."""
    size = max(model.n, len(model.links))
    if size > MAX_SIZE:
        raise InputError(
            f"{model.name!r} has {size} degrees of freedom or links; the workbench shows up to "
            f"{MAX_SIZE}. Use kinetree.load in Python."
        )


def read_payload(given: object) -> tuple[float, Array]:
    """Mass, kg, and centre of mass in the tool frame, m, of a payload."""
    payload = record(given, "payload", ("mass", "com"))
    mass = number(payload.get("mass"), "mass of the payload")
    if mass < 0:
        raise InputError(f"mass of the payload is {mass:g} kg; expected 0 or more.")
    com = numbers(payload.get("com", [0.0] * 3), "centre of mass of the payload", tuple("xyz"))
    return mass, com


# uploads


def read_files(given: object) -> dict[str, bytes]:
    """Contents of the files of an upload by their names, which are relative and with slashes."""
    contents: dict[str, bytes] = {}
    total = 0
    files = sequence(given, "files")
    if not 1 <= len(files) <= MAX_FILES:
        raise InputError(
            f"The upload has {counted(len(files), 'file')}; expected 1 to {MAX_FILES}."
        )
    for file in files:
        entry = record(file, "a file of the upload")
        name = safe_name(text(entry.get("name"), "the name of a file"))
        if name.lower() in map(str.lower, contents):
            raise InputError(f"The upload has two files {name!r}; expected each name once.")
        contents[name] = decoded(entry.get("base64"), name)
        total += len(contents[name])
        if total > UPLOAD_BYTES:
            raise InputError(
                f"The files have more than {UPLOAD_BYTES >> 20} MB together. Start the workbench "
                "with the file instead: kinetree view FILE --folder FOLDER"
            )
    return contents


def decoded(given: object, name: str) -> bytes:
    """The bytes of a file from base64."""
    try:
        return base64.b64decode(text(given, f"the content of {name}"), validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"The content of {name} is not base64.") from None


def safe_name(name: str) -> str:
    """The name of an uploaded file as a relative path inside the upload; InputError otherwise."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    if (
        not parts
        or path.is_absolute()
        or any(
            part == ".." or part.endswith((".", " ")) or len(part) > LONGEST_NAME for part in parts
        )
        or FORBIDDEN.search(name)
        or len(parts) > DEEPEST
        or not name.isprintable()
    ):
        raise InputError(
            f"A file of the upload has the name {name[:80]!r}; expected a name inside the chosen "
            "folder, without .. and without special characters."
        )
    return str(path)


def main_file(contents: Mapping[str, bytes], main: object) -> str:
    """The file of the robot: the one that was chosen, or the only robot file of the upload."""
    endings = ", ".join(ROBOT_FILES)
    if main is not None:
        chosen = safe_name(text(main, "main"))
        if chosen not in contents:
            raise InputError(f"The upload has no file {chosen!r}; it has {listing(contents, 5)}.")
        if PurePosixPath(chosen).suffix.lower() not in ROBOT_FILES:
            raise InputError(
                f"{chosen} is not a robot file; expected a file that ends with {endings}."
            )
        return chosen
    robot_files = [x for x in contents if PurePosixPath(x).suffix.lower() in ROBOT_FILES]
    if len(robot_files) == 1:
        return robot_files[0]
    if not robot_files:
        raise InputError(
            f"The upload has {listing(contents, 3)}; expected a robot file ({endings})."
        )
    raise InputError(
        f"The upload has {len(robot_files)} robot files: {listing(sorted(robot_files), 5)}. Choose "
        "one of them."
    )


def read_upload(key: str, contents: Mapping[str, bytes], main: str, folder: Path) -> Opened:
    """The robot of uploaded files, which are written into a folder of their own and removed.

    Messages name files as the user does: the private folder is taken out of them.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        private = Path(place).resolve()
        for name, content in contents.items():
            path = private / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except OSError as error:
                raise InputError(f"The file {name} cannot be stored ({error.strerror}).") from None
        try:
            with only_inside(private):
                robot, drawn = read_robot(private / main, private)
        except KinetreeError as error:
            raise type_of(error)(without_folder(str(error), private)) from None
        check_size(robot.model)
        own = Robot(without_places(robot.model, private))  # not the report: its file is removed
        remarks = tuple(without_folder(x, private) for x in drawn.remarks)
        return Opened(key, own, stage_of(own, drawn=replace(drawn, remarks=remarks)), main)


def type_of(error: KinetreeError) -> type[KinetreeError]:
    """The class for a message that is raised again: a parse error or a wrong input."""
    return ParseError if isinstance(error, ParseError) else InputError


def without_folder(message: str, folder: Path) -> str:
    """A message with the names of a folder's files as the user gave them."""
    for place in {str(folder), str(folder.resolve())}:
        message = message.replace(f"{place}{os.sep}", "").replace(place, "the upload")
    return message


def without_places(model: Model, folder: Path) -> Model:
    """A model whose name and notes name files of a folder as the user gave them."""

    def renamed(notes: Iterable[Note]) -> tuple[Note, ...]:
        return tuple(Note(without_folder(x.text, folder), x.where) for x in notes)

    name = without_folder(model.name, folder)
    return replace(model, name=name, notes=renamed(model.notes), warnings=renamed(model.warnings))


def read_robot(path: Path, folder: Path) -> tuple[Robot, Scene]:
    """The robot of a file and its shapes; warnings of its reader are in the model.

    folder: the only folder that files are read from.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        robot = load(path, folders=(folder,))
    return robot, scene(robot, path, folder)
