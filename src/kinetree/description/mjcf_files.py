"""The files an MJCF model consists of: read once, bounded, and only from folders that are allowed.

A model may come from anywhere, so a name written in it opens a file only when the real path of
that file, all links followed, lies in the folder of the model or in one the caller named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, sep
from os.path import normpath
from pathlib import Path

from kinetree.description.mjcf_nodes import BOUNDS, Node, document_name, parse, with_ancestors
from kinetree.description.source import MAX_SIZE, read_bytes
from kinetree.description.xml import clip
from kinetree.errors import ParseError

MAX_FILES = 256
MAX_NESTING = 16  # models in models


@dataclass
class Files:
    """What a reading session may open and has opened.

    allowed: real paths of the folders that files may lie in. folders: the folder of each document;
    names in a document are relative to its own. places: (document, name of a file) -> its path.
    """

    allowed: tuple[Path, ...]
    bytes_read: int = 0
    count: int = 0
    folders: list[Path] = field(default_factory=list)
    places: dict[tuple[int, str], Path] = field(default_factory=dict)


class OutsideError(ParseError):
    """A name that leads out of the folders that files may lie in."""


def read_document(
    path: str | PathLike[str], folders: Sequence[str | PathLike[str]]
) -> tuple[list[Node], Files]:
    """Nodes of the model with every include in its place, and the session that read them.

    The models that it names as assets follow, each as a document of its own.
    """
    data = read_bytes(path)  # first, since it also judges what `path` is
    main = Path(path)
    allowed = tuple(Path(folder).resolve() for folder in (main.parent, *folders))
    files = Files(allowed)
    return _read_model(data, main, main.name, files, (main.resolve(),)), files


def _read_model(
    data: bytes, path: Path, name: str, files: Files, chain: tuple[Path, ...]
) -> list[Node]:
    """One document with its includes, then the documents of its <model> assets, depth first."""
    k = len(files.folders)
    files.folders.append(path.parent)
    files.places[k, name] = path
    files.bytes_read += len(data) if k == 0 else 0
    nodes = [replace(node, document=k) for node in parse(data, name)]
    _check_root(nodes[0])
    result: list[Node] = []
    others: list[Node] = []
    for node, around in with_ancestors(_expand(nodes, path, files)):
        if node.tag == "model" and around and around[-1].tag == "asset":
            number = len(files.folders)
            others += _asset_model(node, files, chain)
            given = {key: x for key, x in node.attributes.items() if key == "name"}
            node = replace(node, attributes=given | {"file": document_name(number)})
        result.append(node)
    return result + others


def _asset_model(node: Node, files: Files, chain: tuple[Path, ...]) -> list[Node]:
    name = node.attributes.get("file", "")
    path = find(name, files.places[node.document, node.file], files, node)
    if path is None:
        raise ParseError(
            f"{node.where}: {node} names the file {clip(name, 200)!r}, which does not exist."
        )
    real = path.resolve()
    if real in chain:
        raise ParseError(
            f"{node.where}: {node} names the file {clip(name, 200)!r}, which contains this model; "
            "expected a model that is complete without it."
        )
    if len(chain) >= MAX_NESTING:
        raise ParseError(f"{node.where}: models are nested more than {MAX_NESTING} deep.")
    _count_file(node, files)
    return _read_model(read_asset(path, files, node), path, name, files, (*chain, real))


def _count_file(node: Node, files: Files) -> None:
    files.count += 1
    if files.count >= MAX_FILES:
        raise ParseError(f"{node.where}: the model consists of more than {MAX_FILES} files.")


def find(name: str, near: Path, files: Files, node: Node) -> Path | None:
    """The file that `name` means: in the document's folder, else beside the file that names it.

    None when there is no such file. A name that leads out of the allowed folders is refused
    whether or not a file is there, so that a model cannot probe the disk.
    """
    if not name or "\0" in name:
        raise ParseError(
            f"{node.where}: {node} names the file {clip(name, 200)!r}; expected a file name."
        )
    own, leads_out = files.folders[node.document], False
    for folder in (own, near.parent):
        try:
            real = (folder / name).resolve()
            if not any(real.is_relative_to(root) for root in files.allowed):
                leads_out = True
            elif real.exists():
                return folder / name
        except (OSError, RuntimeError):  # a loop of links, a name too long
            continue
    if leads_out:
        there = clip(normpath(own / name.replace("\\", "/")).rpartition(sep)[0], 200)
        raise OutsideError(
            f"{node.where}: {node} names the file {clip(name, 200)!r}, which lies outside the "
            "model's folder; expected a file in that folder or below it. If the model is to be "
            f"trusted, pass the folder {there!r} in folders= (--folder on the command line)."
        )
    return None


def read_asset(path: Path, files: Files, node: Node) -> bytes:
    """The bytes of a file that `find` found; `node` names it."""
    try:
        data = read_bytes(path, MAX_SIZE - files.bytes_read)
    except ParseError as error:
        raise ParseError(
            f"{node.where}: {node} names a file that cannot be used: {error}"
        ) from None
    files.bytes_read += len(data)
    return data


def _expand(nodes: list[Node], file: Path, files: Files) -> list[Node]:
    """Replace every include by the content of its file, down through the files that include."""
    pending = [(node, file) for node in reversed(nodes)]
    opened = {file.resolve()}  # MuJoCo's rule of once is one of each document
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
    name = node.attributes.get("file", "")
    path = find(name, origin, files, node)
    if path is None:
        raise ParseError(
            f"{node.where}: <include> names the file {clip(name, 200)!r}, which does not exist."
        )
    real = path.resolve()
    if real in opened:
        raise ParseError(
            f"{node.where}: the file {clip(name, 200)!r} is already included; MJCF includes a file "
            "only once, and never itself."
        )
    opened.add(real)
    _count_file(node, files)
    files.places.setdefault((node.document, name), path)
    content = parse(read_asset(path, files, node), name)
    if len(content) == 1:
        raise ParseError(f"{node.where}: the included file {clip(name, 200)!r} is empty.")
    return path, content


def _check_root(root: Node) -> None:
    if root.tag == "mujoco":
        return
    hints = {
        "robot": "This is a URDF file: let its name end with .urdf.",
        "sdf": "This is an SDF file: convert it to URDF or MJCF.",
        "mujocoinclude": "This is a part of a model: read the file that includes it.",
    }
    raise ParseError(
        f"{root.where}: the root element is <{root.tag}>; expected <mujoco>. "
        f"{hints.get(root.tag, 'Is this an MJCF file?')}"
    )
