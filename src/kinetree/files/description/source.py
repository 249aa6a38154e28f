"""The file of a robot with its options; its bytes and text, bounded, every encoding explicit."""

import codecs
import os
import re
import stat
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from kinetree.errors import InputError, ParseError

MAX_SIZE = 64 * 2**20
DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([^"'>]{1,60})["']""")
BYTE_ORDER_MARKS = (  # UTF-32 first: its little-endian mark begins like that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings that extend ASCII, so that the declaration itself can be read. Python knows many more,
# some of which are not text encodings and some of which take quadratic time.
ENCODINGS = frozenset(
    "utf-8 utf8 ascii us-ascii latin-1 latin1 gbk gb2312 gb18030 big5 shift_jis euc-kr".split()
    + [f"iso-8859-{k}" for k in range(1, 17) if k != 12]
    + [f"{family}{k}" for family in ("windows-", "cp") for k in range(1250, 1259)]
)

Pathlike = str | os.PathLike[str]
ArgumentValue = str | bool | int | float  # of an argument of a xacro file
FileOrNone = Literal["file", "none"]
NEUTRAL = "/upload"  # name of the folder of `only_inside` in a description

_folder: ContextVar[Path | None] = ContextVar("folder", default=None)  # of `only_inside`


class MissingFileError(ParseError, FileNotFoundError):
    """There is no file of that name."""


@dataclass(frozen=True)
class RobotFile:
    """A robot's file, or the text of one, and the options that it is read with, as of `kt.load`.

    text: the content, if it is in no file; `path` is then its name in messages.
    """

    path: Pathlike
    text: str | None = None
    floating: bool = False
    mimic: bool = True
    strict: bool = False
    folders: Sequence[Pathlike] = ()
    arguments: Mapping[str, ArgumentValue] | None = None
    environment: bool = False
    friction: FileOrNone = "file"
    constraints: FileOrNone = "file"
    contacts: FileOrNone = "none"
    model: str | None = None

    def __post_init__(self) -> None:
        for name in ("friction", "constraints", "contacts"):
            if (value := getattr(self, name)) not in get_args(FileOrNone):
                raise InputError(f"{name} is {value!r}; expected 'file' or 'none'.")

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return os.path.basename(path_text(self.path))

    @property
    def place(self) -> Pathlike | None:
        """The path of the file; None for a text."""
        return self.path if self.text is None else None

    def content(self) -> str:
        """The text of the file."""
        return decode(read_bytes(self.path), self.name) if self.text is None else self.text


@contextmanager
def only_inside(folder: Path) -> Generator[None]:
    """While active, in this thread: no file outside a folder is read, and no variable is seen."""
    token = _folder.set(folder.resolve())
    try:
        yield
    finally:
        _folder.reset(token)


def is_confined() -> bool:
    """Return True inside `only_inside`: messages then name no folder of this machine."""
    return _folder.get() is not None


def seen_path(path: Path) -> str:
    """A path as a description sees it; inside `only_inside` it begins with a neutral folder."""
    folder = _folder.get()
    if folder is None:
        return str(path)
    check_inside(path)
    return str(PurePosixPath(NEUTRAL, path.resolve().relative_to(folder).as_posix()))


def real_path(text: str) -> str:
    """The path on this machine of a path that a description gives; the inverse of `seen_path`."""
    folder = _folder.get()
    is_seen = folder is not None and f"{text}/".startswith(f"{NEUTRAL}/")
    return f"{folder}{text.removeprefix(NEUTRAL)}" if is_seen else text


def environment() -> Mapping[str, str]:
    """Variables with the folders of packages and models; none inside `only_inside`."""
    return {} if is_confined() else os.environ


def lies_in(path: Path, folders: Iterable[Path]) -> bool:
    """Return True if a file lies in one of the folders: by its real path, all links followed.

    Every reader of a stranger's file asks this before it opens a file that it names.

    Raises:
        OSError, RuntimeError, ValueError: the path is a loop of links, too long, or not a path.
    """
    real = path.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in folders)


def check_inside(path: Path) -> None:
    """Raise ParseError if `only_inside` is active and a file lies elsewhere."""
    folder = _folder.get()
    if folder is not None and not lies_in(path, (folder,)):
        text = f"{path.name[:200]!r} is outside the files that were opened together"
        raise ParseError(f"{text}. Open it together with the others.")


def read_bytes(path: str | os.PathLike[str], limit: int = MAX_SIZE) -> bytes:
    """Content of a regular file of at most `limit` bytes.

    Directories, pipes and devices are errors before they are opened, since reading them may never
    end.
    """
    place = path_text(path)
    check_inside(Path(place))
    try:
        info = os.stat(place)
        if not stat.S_ISREG(info.st_mode):
            what = "folder" if stat.S_ISDIR(info.st_mode) else "pipe or a device"
            raise ParseError(f"{place} is a {what}; expected a regular file.")
        with open(place, "rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        seen = "" if is_confined() else f", seen from the folder {os.getcwd()!r}"
        raise MissingFileError(f"there is no file {place[:200]!r}{seen}.") from None
    except OSError as error:
        raise ParseError(f"{place[:200]!r} cannot be read: {error.strerror}.") from None
    if len(data) > limit:
        raise ParseError(f"{place} is larger than {limit} bytes, the limit for a description.")
    return data


def path_text(path: str | os.PathLike[str]) -> str:
    """The path as text; raise InputError for other types and for a zero character."""
    try:
        place = os.fsdecode(path)
    except TypeError:
        raise InputError(f"path is {type(path).__name__}; expected str or os.PathLike.") from None
    if "\0" in place:
        raise InputError(f"path {place[:200]!r} holds a zero character; no file has such a name.")
    return place


def decode(data: str | bytes, file: str) -> str:
    """Text of an XML file, by its byte order mark, its declared encoding, or as UTF-8."""
    if isinstance(data, str):
        return data
    if not isinstance(data, bytes):
        raise InputError(f"text is {type(data).__name__}; expected the text of a robot file.")
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, file)
    head = data[:4]
    if head in (b"<\0?\0", b"\0<\0?"):
        return _decoded(data, "utf-16-le" if head[0] else "utf-16-be", file)
    if b"\0" in data[:4096]:
        raise ParseError(f"{file}:1:1: this is a binary file, not XML text: it holds zero bytes.")
    declared = DECLARED.match(data)
    return _decoded(data, "utf-8" if declared is None else _known(declared[1], file), file)


def _known(name: bytes, file: str) -> str:
    encoding = name.decode("ascii", "replace").strip().lower()
    if encoding not in ENCODINGS:
        text = f"the XML declaration has encoding {encoding!r}, which the bytes do not have"
        raise ParseError(f"{file}:1:1: {text}; save and declare the file as 'utf-8'.")
    return encoding


def _decoded(data: bytes, encoding: str, file: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        text = f"byte 0x{data[error.start]:02x} is not {encoding} text; save the file as UTF-8, or"
        text += " declare its encoding: <?xml version='1.0' encoding='latin-1'?>."
        raise ParseError(f"{file}:{line}:{column}: {text}") from None
