"""The files an MJCF model consists of: read once, bounded, and only from folders that are allowed.

A model may come from anywhere, so a name written in it opens a file only when the real path of
that file, all links followed, lies in the folder of the model or in one the caller named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from kinetree.description.mjcf_nodes import BOUNDS, Node, parse
from kinetree.description.source import MAX_SIZE, read_bytes
from kinetree.description.xml import clip
from kinetree.errors import ParseError

MAX_FILES = 256


@dataclass
class Files:
    """What a reading session may open and has opened.

    folder: the folder of the model; names in it are relative to this one.
    allowed: real paths of the folders that files may lie in.
    """

    folder: Path
    allowed: tuple[Path, ...]
    bytes_read: int = 0
    opened: set[Path] = field(default_factory=set)


def read_document(
    path: str | PathLike[str], folders: Sequence[str | PathLike[str]]
) -> tuple[list[Node], Files]:
    """Nodes of the model with every include in its place, and the session that read them."""
    data = read_bytes(path)  # first, since it also judges what `path` is
    main = Path(path)
    allowed = tuple(Path(folder).resolve() for folder in (main.parent, *folders))
    files = Files(main.parent, allowed, len(data), {main.resolve()})
    nodes = parse(data, main.name)
    _check_root(nodes[0])
    return _expand(nodes, main, files), files


def find(name: str, near: Path, files: Files, node: Node) -> Path | None:
    """The file that `name` means: in the model's folder, else beside the file that names it.

    None when there is no such file. A name that leads out of the allowed folders is refused
    whether or not a file is there, so that a model cannot probe the disk.
    """
    if not name or "\0" in name:
        raise ParseError(
            f"{node.where}: {node} names the file {clip(name, 200)!r}; expected a file name."
        )
    leads_out = False
    for folder in (files.folder, near.parent):
        try:
            real = (folder / name).resolve()
            if not any(real.is_relative_to(root) for root in files.allowed):
                leads_out = True
            elif real.exists():
                return folder / name
        except (OSError, RuntimeError):  # a loop of links, a name too long
            continue
    if leads_out:
        raise ParseError(
            f"{node.where}: {node} names the file {clip(name, 200)!r}, which lies outside the "
            "model's folder; expected a file in that folder or below it. If the model is to be "
            "trusted, pass the other folder in folders= (--folder on the command line)."
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
        path, content = _include(node, origin, files)
        shift = node.depth - 1  # the root of an included file is only a wrapping
        pending += [(replace(n, depth=n.depth + shift), path) for n in reversed(content[1:])]
    return result


def _include(node: Node, origin: Path, files: Files) -> tuple[Path, list[Node]]:
    name = node.attributes.get("file", "")
    path = find(name, origin, files, node)
    if path is None:
        raise ParseError(
            f"{node.where}: <include> names the file {clip(name, 200)!r}, which does not exist."
        )
    real = path.resolve()
    if real in files.opened:
        raise ParseError(
            f"{node.where}: the file {clip(name, 200)!r} is already included; MJCF includes a file "
            "only once, and never itself."
        )
    files.opened.add(real)
    if len(files.opened) > MAX_FILES:
        raise ParseError(f"{node.where}: the model includes more than {MAX_FILES} files.")
    content = parse(read_asset(path, files, node), name)
    if len(content) == 1:
        raise ParseError(f"{node.where}: the included file {clip(name, 200)!r} is empty.")
    return path, content


def _check_root(root: Node) -> None:
    if root.tag == "mujoco":
        return
    hints = {
        "robot": "This is a URDF file: rename it to .urdf, or read it with read_urdf.",
        "sdf": "This is an SDF file: convert it to URDF or MJCF.",
        "mujocoinclude": "This is a part of a model: read the file that includes it.",
    }
    raise ParseError(
        f"{root.where}: the root element is <{root.tag}>; expected <mujoco>. "
        f"{hints.get(root.tag, 'Is this an MJCF file?')}"
    )
