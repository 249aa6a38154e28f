"""Models of an SDF file as scopes of frames: nested and included models, merged ones, the world.

Only names, poses and attachment are read here; `elements` reads the rest.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kinetree.errors import InputError, ParseError, argument
from kinetree.files.description.element import Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.sdf.format import (
    FIRST_WITH_FRAMES,
    NEWEST,
    SDF,
    SEPARATOR,
    WORLD,
    Document,
    check_name,
    document,
    flag_attribute,
    flag_of,
    part_of,
    read_pose,
    version_of,
)
from kinetree.files.description.sdf.frames import FRAME, JOINT, LINK, MODEL, Frame, Scope, new_world
from kinetree.files.description.sources import NotFoundError, Sources
from kinetree.files.description.xml import Element, show

DEEPEST = 50  # models in models
MOST_NESTED = 16  # includes in includes
NO_LEADING_NAMES = (1, 8)  # first version in which names may not contain "::"
ENDINGS = (".sdf", ".world")
CONFIG, MODEL_FILE = "model.config", "model.sdf"


@dataclass
class Candidate:
    """A model of the file that may be the robot.

    include: the element that names it. absent: why it is not there to be read.
    """

    element: Element
    document: Document
    name: str
    is_static: bool
    include: Element | None = None
    absent: str = ""


@dataclass(frozen=True)
class Reader:
    """Read models into scopes, with the files and findings of one robot."""

    sources: Sources
    findings: Findings

    # files

    def open(self, path: Path, chain: tuple[Path, ...] = (), where: str = "") -> Document:
        """The document of a file."""
        root = self.sources.parse(path, path.name, where)
        return document(root, path.parent, (*chain, path.resolve()))

    def _opened(self, part: Part, outer: Document) -> Document:
        """The document that an <include> names."""
        uri, where = part.text("uri"), f"{part.element.place}: {part.owner}"
        if not uri:
            raise part.fault("<include> has no <uri>; expected model://NAME or file://PATH.")
        if len(outer.chain) > MOST_NESTED:
            raise part.fault(f"files include each other more than {MOST_NESTED} deep.")
        path = self._locate(uri, outer.folder, where)
        if path.suffix.lower() not in ENDINGS:
            # any other file may be secret, and an error would show its beginning
            raise part.fault(f"<uri> {show(uri)} is no SDF file; expected {' or '.join(ENDINGS)}.")
        if path.resolve() in outer.chain:
            raise part.fault(f"<uri> {show(uri)} includes the file that it stands in.")
        try:
            return self.open(path, outer.chain, where)
        except (ParseError, InputError) as error:
            raise part.fault(f"<uri> {show(uri)} cannot be read: {error}") from None

    def _locate(self, uri: str, folder: Path | None, where: str) -> Path:
        """The SDF file of a URI; a folder means the newest that its model.config lists."""
        near = [*([] if folder is None else [folder]), *self.sources.folders]
        path = self.sources.locate(uri, near, where)
        is_word = "/" not in uri and not Path(uri).suffix
        if is_word and not path.exists():  # as programs of Gazebo read it
            path = self.sources.locate(f"model://{uri}", near, where)
        if path.is_dir():
            path = self.sources.check(path / self._model_file(path, uri, where), uri, where)
        if not path.exists():
            text = f"<uri> {show(uri)} is not found; there is no file {path}."
            raise NotFoundError(f"{where}: {text}")
        return path

    def _model_file(self, folder: Path, uri: str, where: str) -> str:
        config = folder / CONFIG
        if not config.is_file():
            return MODEL_FILE
        root = self.sources.parse(self.sources.check(config, uri, where), CONFIG, where)
        listed = [(version_of(x) or (1, 0), x.value) for x in root.all("sdf") if x.value]
        if not listed:
            raise ParseError(f"{where}: {config} lists no <sdf> file.")
        return max([x for x in listed if x[0] <= NEWEST] or listed)[1]

    # models of the world

    def candidates(self, outer: Document) -> list[Candidate]:
        """The models directly in <sdf> or in its <world>."""
        models = [self._candidate(child, outer) for child in outer.root.all(MODEL)]
        for child in (x for world in outer.root.all(WORLD) for x in world.children):
            if child.tag == MODEL:
                models.append(self._candidate(child, outer))
            elif child.tag == "include":
                part = part_of(child, "<include>", self.findings)
                try:
                    models.append(self._included(part, outer))
                except NotFoundError as error:
                    self.findings.warn(child, f"a model is left out: {error}")
                    name = part.text("name") or part.text("uri").rstrip("/").split("/")[-1]
                    static, why = flag_of(part, "static"), str(error)
                    models.append(Candidate(child, outer, name, static, child, why))
        return models

    def _candidate(self, element: Element, owner: Document) -> Candidate:
        name = self._name(element, owner)
        part = Part(element, f"model {show(name)}", self.findings, SDF)
        return Candidate(element, owner, name, flag_of(part, "static"))

    def _included(self, part: Part, outer: Document) -> Candidate:
        """The model of an <include>, with the name and pose that the include gives it."""
        inner = self._opened(part, outer)
        models = inner.root.all(MODEL)
        if len(models) != 1:
            raise part.fault(
                f"the included file {show(inner.root.file)} has {len(models)} models; expected one."
            )
        model = self._candidate(models[0], inner)
        name = part.text("name") or model.name
        check_name(part, name, outer.version >= NO_LEADING_NAMES)
        is_static = flag_of(part, "static", model.is_static)
        return replace(model, name=name, is_static=is_static, include=part.element)

    def world(self, outer: Document, models: Sequence[Candidate], chosen: Candidate) -> Scope:
        """The scope of the world with all its models and frames; names of `chosen` have no prefix.

        World frames that refer to models which were not found are left out with a note.
        """
        scope = new_world(outer.root)
        for model in (x for x in models if not x.absent):
            prefix = "" if model is chosen else f"{model.name}{SEPARATOR}"
            try:
                self._model(model, scope, model.name, prefix, 0)
            except NotFoundError as error:
                if model is chosen:
                    raise
                self.findings.warn(model.element, f"a part of another model is left out: {error}")
        for holder in outer.root.all(WORLD):
            part_of(holder, WORLD, self.findings)
            for child in holder.all(FRAME):
                self._frame(child, scope, outer)
        return scope

    # models

    def _model(self, given: Candidate, around: Scope, local: str, prefix: str, depth: int) -> Scope:
        """Add a model to the scope around it, with all that it contains."""
        owner = f"model {show(given.name)}"
        part = part_of(given.element, owner, self.findings)
        if depth > DEEPEST:
            raise part.fault(f"models are nested more than {DEEPEST} deep.")
        T, relative_to = read_pose(part)
        placement = given.element.attributes.get("placement_frame", "").strip()
        if given.include is not None:
            asked = Part(given.include, f"<include> of {owner}", self.findings, SDF)
            placed = asked.text("placement_frame")
            if asked.has("pose"):
                T, relative_to = read_pose(asked)
            elif relative_to or placed:
                raise asked.fault(
                    "its <placement_frame>, or the pose that the included model has relative to "
                    "another frame, needs a <pose> of <include>; add one."
                )
            placement = placed or placement
        inner = Scope(prefix, owner, is_static=given.is_static or around.is_static)
        name = prefix.removesuffix(SEPARATOR) or given.name
        frame = Frame(name, MODEL, given.element, around, T, relative_to, "", placement, inner)
        inner.origin = frame
        around.add(local, frame)
        self._content(given, inner, depth)
        canonical = given.element.attributes.get("canonical_link", "").strip()
        frame.attached_to = canonical or _first_link(inner)
        if given.is_static and not around.is_static and around.origin.kind != WORLD:
            raise part.fault(
                "<static> of a nested model is not supported, as it would stand still in a model "
                "that moves. Connect its links by fixed joints and delete <static>."
            )
        return inner

    def _content(self, given: Candidate, scope: Scope, depth: int) -> None:
        outer = given.document
        links = {child.attributes.get("name", "") for child in given.element.all(LINK)}
        for child in given.element.children:
            if child.tag == LINK:
                self._add(child, scope, outer)
            elif child.tag == JOINT:
                self.joint(child, scope, outer, links)
            elif child.tag == FRAME:
                self._frame(child, scope, outer)
            elif child.tag == MODEL:
                self._nested(self._candidate(child, outer), scope, depth)
            elif child.tag == "include":
                self._include(child, scope, outer, depth)

    def _nested(self, nested: Candidate, scope: Scope, depth: int) -> None:
        prefix = f"{scope.prefix}{nested.name}{SEPARATOR}"
        self._model(nested, scope, nested.name, prefix, depth + 1)

    def _include(self, element: Element, scope: Scope, outer: Document, depth: int) -> None:
        part = part_of(element, f"<include> in {scope.owner}", self.findings)
        nested = self._included(part, outer)
        if not flag_attribute(part, "merge"):
            self._nested(nested, scope, depth)
            return
        # the content of a merged model belongs to the scope around it, but looks its own names up
        # among themselves: its __model__ is the place where it was included
        local = f"_merged__{nested.name}__model__"
        inner = self._model(nested, scope, local, scope.prefix, depth + 1)
        scope.frames[local].name = f"{scope.prefix}{local}"
        for name, frame in inner.frames.items():
            scope.add(name, frame)

    def joint(
        self, element: Element, scope: Scope, outer: Document, links: Collection[str] = ()
    ) -> Frame:
        """Add a joint to the scope that it stands in; `links`: names of the links beside it."""
        child = Part(element, element.tag, self.findings, SDF).text("child")
        name = element.attributes.get("name", "")
        if child in ("", WORLD):
            part = Part(element, f"joint {show(name)}", self.findings, SDF)
            written = repr(child) if child else "none"
            raise part.fault(f"<child> is {written}; expected the name of a link or frame.")
        is_shared = name in links and outer.version < FIRST_WITH_FRAMES
        return self._add(element, scope, outer, child, "joint " if is_shared else "")

    def _frame(self, element: Element, scope: Scope, outer: Document) -> None:
        self._add(element, scope, outer, element.attributes.get("attached_to", "").strip())

    def _add(
        self,
        element: Element,
        scope: Scope,
        outer: Document,
        attached_to: str = "",
        local_prefix: str = "",
    ) -> Frame:
        """Add the frame of a link, joint or frame, with the name and pose of its element."""
        local = self._name(element, outer)
        name = f"{scope.prefix}{local}"
        part = part_of(element, f"{element.tag} {show(name)}", self.findings)
        T, relative_to = read_pose(part)
        frame = Frame(name, element.tag, element, scope, T, relative_to, attached_to)
        scope.add(f"{local_prefix}{local}", frame)
        return frame

    def _name(self, element: Element, owner: Document) -> str:
        part = Part(element, f"<{element.tag}>", self.findings, SDF)
        return check_name(part, part.name("name"), owner.version >= NO_LEADING_NAMES)


def _first_link(scope: Scope) -> str:
    """The default canonical link: the first link of a model, else that of its first model."""
    links = (name for name, frame in scope.frames.items() if frame.kind == LINK)
    nested = (
        f"{name}{SEPARATOR}{frame.attached_to}"
        for name, frame in scope.frames.items()
        if frame.inner is not None and frame.attached_to
    )
    return next(links, next(nested, ""))


def choose(models: Sequence[Candidate], name: str | None, root: Element) -> Candidate:
    """The model that is the robot: the one of that name, or the only one that can move.

    A model that is absent may be the robot, unless it is static: then one that stands still is not
    taken in its place.
    """
    there = [x for x in models if not x.absent]
    if name is not None:
        chosen = [x for x in there if x.name == name] or [x for x in models if x.name == name]
    else:
        is_alone = len(models) == 1
        moving = [x for x in there if is_alone or not x.is_static]
        lost = [x for x in models if x.absent and not x.is_static]
        chosen = moving or lost or (there if len(there) == 1 else [])
    if chosen and chosen[0].absent:
        more = "" if name else ", and the file has no other model that can move"
        raise ParseError(
            f"{root.place}: model {show(chosen[0].name)} cannot be read{more}: {chosen[0].absent}"
        )
    if len(chosen) == 1:
        return chosen[0]
    if not there:
        raise ParseError(
            f"{root.place}: the file has no <model>; expected one in <sdf> or in its <world>."
        )
    kind = ParseError if name is None else InputError
    asked = "can move" if name is None else f"are called {show(name)}"
    names = ", ".join(show(x.name) for x in there[:12])
    raise kind(
        f"{root.place}: the file has {len(there)} models, of which {len(chosen)} {asked}; expected "
        f"one robot. The models are {names}. Choose one by its name: {argument('model')}."
    )
