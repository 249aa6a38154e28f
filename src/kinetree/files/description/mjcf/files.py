"""The files of an MJCF model: read once, bounded, and only from folders that are allowed.

A model may come from anywhere. A name written in it therefore opens a file only if the real path of
that file, all links followed, lies in the folder of the model or in one that the caller named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, sep
from os.path import normpath
from pathlib import Path

from kinetree.errors import ParseError
from kinetree.files.description.mjcf.nodes import BOUNDS, Node, document_name, parse, with_ancestors
from kinetree.files.description.source import MAX_SIZE, is_confined, lies_in, read_bytes
from kinetree.files.description.xml import clip

MAX_FILES = 256
MAX_NESTING = 16  # models in models


class OutsideError(ParseError):
    """A name that leads out of the folders that files may lie in."""


@dataclass
class Files:
    """The files of one model: those that may be opened, and those that have been.

    allowed: real paths of the folders that files may lie in. folders: the folder of each document;
    names in a document are relative to its own. places: (document, name of a file) -> its path.
    """

    allowed: tuple[Path, ...]
    is_text: bool = False  # the model is a text: names are looked up in every allowed folder
    bytes_read: int = 0
    count: int = 0
    folders: list[Path] = field(default_factory=list)
    places: dict[tuple[int, str], Path] = field(default_factory=dict)

    def find(self, name: str, near: Path, node: Node) -> Path | None:
        """The file of that name: in the document's folder, else beside the file that names it.

        None when there is no such file. A name that leads out of the allowed folders is an error
        whether or not a file is there, so that a model cannot probe the disk.
        """
        if not name or "\0" in name:
            raise ParseError(f"{_naming(node, name)}; expected a file name.")
        home, leads_out = self.folders[node.document], False
        if self.is_text and not self.allowed:
            raise OutsideError(
                f"{_naming(node, name)}; a text lies in no folder. Pass the folder of that file in "
                "folders=."
            )
        for folder in (home, near.parent, *(self.allowed if self.is_text else ())):
            try:
                if not lies_in(folder / name, self.allowed):
                    leads_out = True
                elif (folder / name).exists():
                    return folder / name
            except (OSError, RuntimeError):  # a loop of links, a name too long
                continue
        if leads_out:
            there = clip(normpath(home / name.replace("\\", "/")).rpartition(sep)[0], 200)
            remedy = (
                "Open it together with the others."
                if is_confined()
                else f"If the model is to be trusted, pass the folder {there!r} in folders= "
                "(--folder on the command line)."
            )
            raise OutsideError(
                f"{_naming(node, name)}, which lies outside the model's folder; expected a file in "
                f"that folder or below it. {remedy}"
            )
        return None

    def find_part(self, near: Path, node: Node) -> tuple[str, Path, Path]:
        """Name, path and real path of the file that <include> or <model> names; it must exist."""
        name = node.attributes.get("file", "")
        path = self.find(name, near, node)
        if path is None:
            raise ParseError(f"{_naming(node, name)}, which does not exist.")
        return name, path, path.resolve()

    def read(self, path: Path, node: Node) -> bytes:
        """The bytes of a file that `find` found; `node` names it."""
        try:
            data = read_bytes(path, MAX_SIZE - self.bytes_read)
        except ParseError as error:
            raise ParseError(
                f"{node.where}: {node} names a file that cannot be used: {error}"
            ) from None
        self.bytes_read += len(data)
        return data

    def read_part(self, path: Path, node: Node) -> bytes:
        """The bytes of a file with elements, of which there may be MAX_FILES."""
        self.count += 1
        if self.count >= MAX_FILES:
            raise ParseError(f"{node.where}: the model consists of more than {MAX_FILES} files.")
        return self.read(path, node)


def _naming(node: Node, name: str) -> str:
    return f"{node.where}: {node} names the file {clip(name, 200)!r}"


def read_document(
    path: str | PathLike[str],
    folders: Sequence[str | PathLike[str]],
    text: str | None = None,
) -> tuple[list[Node], Files]:
    """Nodes of the model with every include in its place, and the files they came from.

    The models that it names as assets follow, each as a document of its own. text: the content, if
    it is not in a file; `path` is then its name, and other files are looked up in `folders` only.
    """
    data = read_bytes(path) if text is None else text  # this also checks the type of `path`
    main = Path(path)
    allowed = [Path(folder).resolve() for folder in folders]
    if text is None:
        allowed.insert(0, main.parent.resolve())
    else:
        main = (allowed[0] if allowed else Path(sep)) / main.name
    files = Files(tuple(allowed), text is not None)
    files.bytes_read = len(data)
    return _read_model(data, main, main.name, files, (main.resolve(),)), files


def _read_model(
    data: bytes | str, path: Path, name: str, files: Files, chain: tuple[Path, ...]
) -> list[Node]:
    """One document with its includes, then the documents of its <model> assets, depth first.

    chain: real paths of this document and of those that contain it.
    """
    k = len(files.folders)
    files.folders.append(path.parent)
    files.places[k, name] = path
    nodes = [replace(node, document=k) for node in parse(data, name)]
    _check_root(nodes[0])
    result: list[Node] = []
    others: list[Node] = []
    for node, around in with_ancestors(_expand(nodes, path, files)):
        if node.tag == "model" and around and around[-1].tag == "asset":
            number = len(files.folders)
            others += _asset_model(node, files, chain)
            kept = {key: x for key, x in node.attributes.items() if key == "name"}
            node = replace(node, attributes=kept | {"file": document_name(number)})
        result.append(node)
    return result + others


def _asset_model(node: Node, files: Files, chain: tuple[Path, ...]) -> list[Node]:
    name, path, real = files.find_part(files.places[node.document, node.file], node)
    if real in chain:
        raise ParseError(
            f"{_naming(node, name)}, which contains this model; expected a model that is complete "
            "without it."
        )
    if len(chain) >= MAX_NESTING:
        raise ParseError(f"{node.where}: models are nested more than {MAX_NESTING} deep.")
    return _read_model(files.read_part(path, node), path, name, files, (*chain, real))


def _expand(nodes: list[Node], file: Path, files: Files) -> list[Node]:
    """Replace every include by the content of its file, down through the files that include."""
    pending = [(node, file) for node in reversed(nodes)]
    opened = {file.resolve()}  # MuJoCo includes a file once in each document
    result: list[Node] = []
    while pending:
        node, origin = pending.pop()
        if node.tag != "include":
            if node.depth >= BOUNDS.depth or len(result) >= BOUNDS.elements:
                raise ParseError(
                    f"{node.where}: with its includes the document has more than {BOUNDS.elements} "
                    f"elements or {BOUNDS.depth} levels."
                )
            result.append(node)
            continue
        if pending and pending[-1][0].depth > node.depth:
            raise ParseError(f"{node.where}: <include> has children; expected none.")
        path, content = _include(node, origin, files, opened)
        shift = node.depth - 1  # the root of an included file is only a wrapping
        pending += [
            (replace(n, depth=n.depth + shift, document=node.document), path)
            for n in reversed(content[1:])
        ]
    return result


def _include(node: Node, origin: Path, files: Files, opened: set[Path]) -> tuple[Path, list[Node]]:
    name, path, real = files.find_part(origin, node)
    if real in opened:
        raise ParseError(
            f"{node.where}: the file {clip(name, 200)!r} is already included; MJCF includes a file "
            "only once, and never itself."
        )
    opened.add(real)
    files.places.setdefault((node.document, name), path)
    content = parse(files.read_part(path, node), name)
    if len(content) == 1:
        raise ParseError(f"{node.where}: the included file {clip(name, 200)!r} is empty.")
    return path, content


def _check_root(root: Node) -> None:
    if root.tag == "mujoco":
        return
    hints = {
        "robot": "This is a URDF file: let its name end with .urdf.",
        "sdf": "This is an SDF file: let its name end with .sdf.",
        "mujocoinclude": "This is a part of a model: read the file that includes it.",
    }
    raise ParseError(
        f"{root.where}: the root element is <{root.tag}>; expected <mujoco>. "
        f"{hints.get(root.tag, 'Is this an MJCF file?')}"
    )
