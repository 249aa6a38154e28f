"""The text of an MJCF model as MuJoCo gets it: includes in their places, no names of files.

MuJoCo's compiler decides the meaning of the text. Here every file that it names is opened, by
`Sources`, or replaced: MuJoCo itself opens none. A mesh in a file becomes a stand-in of the same
name, a tetrahedron, so that all references to it stay valid; `compile` decides whether an inertia
depends on it. The text has one start tag a line, and lines are counted on through all attached
models, so that line k of MuJoCo's messages is node k - 1 of the document, whatever is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from kinetree.errors import ParseError
from kinetree.files.description.contacts import MAX_CELLS
from kinetree.files.description.source import RobotFile, path_text
from kinetree.files.description.sources import Sources
from kinetree.files.description.xml import Bounds, Element, clip, parse_xml, quoted

# MuJoCo's own reader accepts 500 levels; a mesh written into the file is one long attribute.
BOUNDS = Bounds(depth=500, elements=200_000, value=32 * 2**20)
MOST_NESTED = 16  # models in models
MOST_COPIES = 200_000  # elements once every replicate and attach is written out
# Attributes that make MuJoCo allocate or repeat, with the largest value.
SIZES = {"count": 1000, "params": 200, "dim": 1000, "num": 1000, "nsample": 10_000, "actdim": 1000}

# Sections and elements that never enter dynamics, and attributes that point to them.
DROPPED = frozenset("visual statistic size custom extension layer lengthrange texture skin".split())
DROPPED_ATTRIBUTES = frozenset("texture usethread meshdir texturedir assetdir strippath".split())
MESH_ATTRIBUTES = ("class", "scale", "refpos", "refquat", "inertia", "maxhullvert")
REFUSED = {  # whose motion is not that of a tree of rigid bodies
    "flexcomp": "a soft body",
    "flex": "a soft body",
    "composite": "a generated structure, which recent versions of MuJoCo no longer read",
}
OTHER_ROOTS = {
    "robot": "This is a URDF file: let its name end with .urdf.",
    "sdf": "This is an SDF file: let its name end with .sdf.",
    "mujocoinclude": "This is a part of a model: read the file that includes it.",
}

# Numbers that MuJoCo reads as something else; in names, such words are valid.
ODD_NUMBER = re.compile(r"[+-]?(?:nan(?:\(.*\))?|inf(?:inity)?|0x[0-9a-f.p+-]*)", re.IGNORECASE)
NAMES = re.compile(
    r"(child)?class|.*name|.*(body|joint|site|geom|tendon|body|subtree)[12]?|model|prefix|mesh|"
    r"material|hfield|actuator|camera|target|key|value|plugin|instance|flex|data|.*type|mode|"
    r"jointinparent|builtin|content_type|file.*|joint1|joint2"
)
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")  # "1-2" are two, as for MuJoCo
LONG = 4 * 65536  # characters of a mesh or height field in the file, which MuJoCo checks


@dataclass(eq=False)
class Node:
    """An element of the document that it belongs to: 0 is the file, others are <model> assets.

    start, end: its number in the model, and that of the first node after all inside it. size: the
    number of elements that MuJoCo writes out for it.
    """

    element: Element
    outer: "Node | None"
    document: int
    start: int = 0
    end: int = 0
    size: int = 0

    @property
    def tag(self) -> str:
        """Tag of the element."""
        return self.element.tag

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the element, as in the file."""
        return self.element.attributes

    @property
    def where(self) -> str:
        """file:line of the start tag."""
        return self.element.where

    def around(self) -> "Iterator[Node]":
        """The nodes that it lies in, innermost first."""
        node = self.outer
        while node is not None:
            yield node
            node = node.outer

    def lies_in(self, *tags: str) -> bool:
        """Return True if it lies in an element of one of these tags, at any depth."""
        return any(node.tag in tags for node in self.around())

    def __str__(self) -> str:
        """The element as a user would name it: itself, and the nearest named body around it."""
        name = self.attributes.get("name", self.attributes.get("class"))
        text = f"<{clip(self.tag)}>" + ("" if name is None else f" {clip(name)!r}")
        bodies = (x.attributes.get("name") for x in self.around() if x.tag == "body")
        body = next(filter(None, bodies), None)
        return text if body is None else f"{text} of body {clip(body)!r}"

    def fault(self, text: str) -> ParseError:
        """The error at this element; the caller raises it."""
        return ParseError(f"{self.where}: {text}")


@dataclass(frozen=True)
class MeshFile:
    """A mesh asset that lies outside the document; path: None if a plugin generates it."""

    node: Node
    name: str
    path: str | None


@dataclass
class Document:
    """All elements of a model, and of the models that it attaches, in the order of their text.

    folders, starts: folder and first node of each document. files: paths of files by their names in
    messages. meshes: the assets in files, by the number of their node.
    """

    sources: Sources
    is_text: bool
    nodes: list[Node] = field(default_factory=list[Node])
    folders: list[Path] = field(default_factory=list[Path])
    starts: list[int] = field(default_factory=list[int])
    files: dict[str, Path] = field(default_factory=dict[str, Path])
    meshes: dict[int, MeshFile] = field(default_factory=dict[int, MeshFile])

    @property
    def documents(self) -> range:
        """Numbers of the documents."""
        return range(len(self.starts))

    # files

    def locate(self, name: str, node: Node) -> Path:
        """The file of a name in the text, which need not exist."""
        home = self.folders[node.document]
        near = [home, self.files.get(node.element.file, home).parent]
        near = self.sources.folders if self.is_text else near
        where = f"{node.where}: {node}"
        return self.sources.locate(name.replace("\\", "/"), near, where)

    def _opened(self, node: Node) -> tuple[Path, Element]:
        """Path and root of the file that <include> or <model> names."""
        name = node.attributes.get("file", "")
        path = self.locate(name, node)
        if not path.is_file():
            raise node.fault(f"{node} names the file {clip(name, 200)!r}, which does not exist.")
        self.files.setdefault(name, path)
        try:
            return path, self.sources.parse(path, name, node.where, BOUNDS)
        except ParseError as error:
            if str(error).startswith(f"{name}:"):
                raise
            raise node.fault(f"{node} names a file that cannot be used: {error}") from None

    def add(self, root: Element, path: Path, chain: tuple[Path, ...]) -> None:
        """Add a model with its includes, then the models that it names, depth first.

        chain: real paths of this file and of those that contain it.
        """
        if root.tag != "mujoco":
            hint = OTHER_ROOTS.get(root.tag, "Is this an MJCF file?")
            text = f"the root element is <{clip(root.tag)}>; expected <mujoco>"
            raise ParseError(f"{root.where}: {text}. {hint}")
        if len(chain) > MOST_NESTED:
            raise ParseError(f"{root.where}: models are nested more than {MOST_NESTED} deep.")
        number, first = len(self.folders), len(self.nodes)
        self.folders.append(path.parent)
        self.starts.append(first)
        self._flatten(Node(root, None, number), {path.resolve()})
        for node in self.nodes[first:]:
            if node.tag == "model" and node.outer is not None and node.outer.tag == "asset":
                inner, inner_root = self._opened(node)
                if inner.resolve() in chain:
                    raise node.fault(f"{node} names a model that contains this one.")
                node.attributes["file"] = document_name(len(self.folders))
                self.add(inner_root, inner, (*chain, inner.resolve()))

    def _flatten(self, root: Node, opened: set[Path]) -> None:
        """Add all nodes of a document in the order of their start tags, includes in place."""
        waiting: list[Node | int] = [root]  # an int closes the node of that number
        while waiting:
            node = waiting.pop()
            if isinstance(node, int):
                self.nodes[node].end = len(self.nodes)
                continue
            if node.tag == "include":
                path, content = self._opened(node)
                if path.resolve() in opened:  # MuJoCo includes a file once in each document
                    label = clip(node.attributes["file"], 200)
                    text = f"{node} names the file {label!r}, which is already included"
                    raise node.fault(f"{text}; MJCF includes a file once, and never itself.")
                opened.add(path.resolve())
                outer, children = node.outer, content.children
            else:
                node.start = len(self.nodes)
                waiting.append(node.start)
                self.nodes.append(node)
                outer, children = node, node.element.children
            if len(self.nodes) > BOUNDS.elements:
                raise node.fault(f"the model has more than {BOUNDS.elements} elements.")
            waiting += [Node(x, outer, root.document) for x in reversed(children)]

    # checks of what MuJoCo would misread, or would take all memory for

    def check(self) -> None:
        """Raise ParseError unless MuJoCo can be given every node."""
        for node in self.nodes:
            if node.tag in REFUSED and not node.lies_in("equality"):
                text = f"{node} is {REFUSED[node.tag]}; expected a tree of rigid bodies"
                raise node.fault(f"{text}. Remove the <{node.tag}> element.")
            for attribute, value in node.attributes.items():
                _check_value(node, attribute, value)
        self._check_inertias()
        self._check_copies()

    def _check_inertias(self) -> None:
        """Raise for negative masses and moments, which MuJoCo sets to 0 in a static body.

        Bounds of <compiler>, and balanceinertia, say what to put in their place.
        """
        options = [x.attributes.items() for x in self.nodes if x.tag == "compiler"]
        chosen = {key for pairs in options for key, x in pairs if x not in ("0", "false")}
        bounds = {"mass": {"boundmass"}, "diaginertia": {"boundinertia", "balanceinertia"}}
        for node in (x for x in self.nodes if x.tag == "inertial"):
            for key, replaced_by in bounds.items():
                value = node.attributes.get(key, "")
                negative = any(float(x) < 0 for x in NUMBER.findall(value))
                if negative and chosen.isdisjoint(replaced_by):
                    text = f"{key} of {node} is {clip(value)!r}; expected numbers >= 0."
                    raise node.fault(text)

    def _check_copies(self) -> None:
        """Bound the model that MuJoCo builds, once every <replicate> and <attach> is written out.

        Documents are counted from the last, since a model has a smaller number than those that it
        attaches, and nodes inside out.
        """
        sizes: dict[tuple[str, str], int] = {}  # elements of documents, parts and named models
        for number in reversed(self.documents):
            first, last = self._span(number)
            for node in sorted(self.nodes[first:last], key=lambda x: (x.end, -x.start)):
                given = node.attributes
                name, file = given.get("name", ""), given.get("file", "")
                node.size += 1
                if node.tag == "model":
                    sizes["model", name] = sizes.get(("file", file), 0)
                elif node.tag == "attach":
                    part = "part", given.get("body", given.get("frame", ""))
                    key = ("model", given["model"]) if "model" in given else part
                    node.size += sizes.get(key, 0)
                elif node.tag == "replicate":
                    node.size *= max(1, _integer(given.get("count", "1")))
                if node.size > MOST_COPIES:
                    text = f"the model has more than {MOST_COPIES} elements"
                    raise node.fault(f"with every <replicate> and <attach> written out {text}.")
                sizes["part", name] = node.size
                if node.outer is not None:
                    node.outer.size += node.size
            sizes["file", document_name(number)] = self.nodes[first].size

    def _span(self, number: int) -> tuple[int, int]:
        """Numbers of the first node of a document, and of the first after it."""
        return self.starts[number], [*self.starts, len(self.nodes)][number + 1]

    # the text

    def texts(
        self, corners: str, present: Mapping[int, str] | None = None
    ) -> tuple[str, dict[str, bytes]]:
        """The text of the model, and of those that it attaches by file name.

        Args:
            corners: of the stand-in for meshes.
            present: meshes that MuJoCo is given, and the file names that it gets them by.
        """
        lines: list[str] = []
        unclosed: list[tuple[int, str]] = []  # (end, tag)
        skipped = 0
        for k, node in enumerate(self.nodes):
            while unclosed and unclosed[-1][0] <= k:
                lines[-1] += f"</{unclosed.pop()[1]}>"
            written = None if k < skipped else self._written(k, node, corners, present or {})
            if written is None:
                skipped = max(skipped, node.end)
                lines.append("")
                continue
            tag, attributes = written
            pairs = "".join(f" {key}={quoted(x)}" for key, x in attributes.items())
            lines.append(f"<{tag}{pairs}>")
            unclosed.append((node.end, tag))
            skipped = node.end if k in self.meshes else skipped
        lines[-1] += "".join(f"</{tag}>" for _, tag in reversed(unclosed))
        texts = ["\n" * a + "\n".join(lines[a:b]) for a, b in map(self._span, self.documents)]
        return texts[0], {document_name(k): x.encode() for k, x in enumerate(texts) if k}

    def _written(
        self, k: int, node: Node, corners: str, present: Mapping[int, str]
    ) -> tuple[str, dict[str, str]] | None:
        """Tag and attributes of a node in the text; None if it and all inside it are left out."""
        tag, outer = node.tag, "" if node.outer is None else node.outer.tag
        if tag in DROPPED or (tag == "plugin" and outer != "actuator") or outer == "plugin":
            return None
        if k in self.meshes:
            kept = {key: x for key, x in node.attributes.items() if key in MESH_ATTRIBUTES}
            kept |= {"name": self.meshes[k].name}
            stand_in = {"vertex": corners, "inertia": "convex"}
            return tag, _plain(kept | ({"file": present[k]} if k in present else stand_in))
        if tag == "model" and outer == "asset":
            return tag, {k: x for k, x in node.attributes.items() if k in ("name", "file")}
        dropped = {key for key in node.attributes if key.startswith("file")} | DROPPED_ATTRIBUTES
        attributes = {key: x for key, x in node.attributes.items() if key not in dropped}
        if tag == "plugin":  # of an actuator: it keeps its place, and the plugin decides its force
            tag = "general"
            attributes = {k: x for k, x in attributes.items() if k not in ("plugin", "instance")}
            attributes |= {"gaintype": "user", "biastype": "user", "dyntype": "user"}
        if tag == "geom" and attributes.get("type") == "sdf":
            attributes["type"] = "mesh"
        if tag == "hfield" and outer == "asset":
            attributes = _height_field(node, attributes)
        return tag, _plain(attributes)


def read_document(source: RobotFile) -> Document:
    """The checked elements of a model and of all files that it consists of.

    Only its own folder and `folders` are read; of a text, `folders` only.
    """
    file = Path(path_text(source.path))
    sources = Sources(source.place, source.folders, own=False)
    document = Document(sources, source.text is not None, files={file.name: file})
    if source.text is None:
        root = sources.parse(file, file.name, bounds=BOUNDS)
    else:
        root = parse_xml(source.text, file.name, BOUNDS)
    document.add(root, file, (file.resolve(),))
    document.check()
    document.meshes = _mesh_files(document.nodes)
    return document


def document_name(k: int) -> str:
    """File name under which MuJoCo is given document k; there is no such file on the disk."""
    return f"kinetree_model_{k}.xml"


def _mesh_files(nodes: Sequence[Node]) -> dict[int, MeshFile]:
    """Mesh assets that need a file or a plugin, with their paths as MuJoCo reads them."""
    settings: dict[int, dict[str, str]] = {}
    for node in nodes:
        if node.tag == "compiler":
            settings.setdefault(node.document, {}).update(node.attributes)
    meshes: dict[int, MeshFile] = {}
    for k, node in enumerate(nodes):
        by_plugin = any(child.tag == "plugin" for child in node.element.children)
        if node.tag != "mesh" or not ("file" in node.attributes or by_plugin):
            continue
        path = node.attributes.get("file")
        if path is not None:
            options = settings.get(node.document, {})
            folder = options.get("meshdir", options.get("assetdir", "")).replace("\\", "/")
            path = path.replace("\\", "/")
            path = PurePosixPath(path).name if options.get("strippath") == "true" else path
            path = str(PurePosixPath(folder) / path)
        meshes[k] = MeshFile(node, _asset_name(node), path)
    return meshes


def _asset_name(node: Node) -> str:
    """MuJoCo names an asset without name after its file, without folder and extension."""
    file = node.attributes.get("file", "").replace("\\", "/")
    return node.attributes.get("name", PurePosixPath(file).stem)


def _height_field(node: Node, given: dict[str, str]) -> dict[str, str]:
    """A height field whose heights are in the text, or else a flat one of 2 by 2."""
    elevation = given.get("elevation", "")
    whole = "file" not in node.attributes and 0 < len(elevation.split()) <= MAX_CELLS
    keys = ("name", "size", "nrow", "ncol", "elevation") if whole else ("name", "size")
    kept = {"name": _asset_name(node)} | {key: given[key] for key in keys if key in given}
    return kept if whole else kept | {"nrow": "2", "ncol": "2"}


def _plain(attributes: dict[str, str]) -> dict[str, str]:
    """Classes without percent signs: MuJoCo prints an unknown one as a format string."""
    return {
        key: x.replace("%", "\ufe6a") if key in ("class", "childclass") else x
        for key, x in attributes.items()
    }


def _check_value(node: Node, attribute: str, value: str) -> None:
    if attribute == "eulerseq" and not re.fullmatch("[xyzXYZ]{3}", value):
        raise node.fault(f"eulerseq is {clip(value)!r}; expected three of x y z or X Y Z.")
    if len(value) > LONG or NAMES.fullmatch(attribute):
        return
    for token in value.split():
        no_limit = attribute.endswith("range") and "inf" in token.lower()
        if ODD_NUMBER.fullmatch(token) and not no_limit:
            text = f"{attribute} of {node} is {clip(value)!r}; expected finite decimal numbers"
            raise node.fault(f"{text}, found {token!r}.")
        if attribute in SIZES and _integer(token) > SIZES[attribute]:
            most = SIZES[attribute]
            raise node.fault(f"{attribute} of {node} is {clip(value)!r}; expected at most {most}.")


def _integer(text: str) -> int:
    """The integer that MuJoCo reads, or 0 where it raises an error itself."""
    try:
        return int(min(float(text), 1e18))
    except (ValueError, OverflowError):
        return 0
