"""Models of an SDF file as scopes of frames: nested and included models, merged ones, the world.

Only names, poses and attachment are read here; `elements` reads the rest.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kinetree.errors import InputError, ParseError, argument
from kinetree.files.description.element import Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.sdf.frames import FRAME, JOINT, LINK, MODEL, Frame, Scope, new_world
from kinetree.files.description.sdf.versions import (
    FIRST_WITH_FRAMES,
    NEWEST,
    Document,
    document,
    version_of,
)
from kinetree.files.description.sdf.words import (
    SDF,
    SEPARATOR,
    WORLD,
    check_name,
    flag_attribute,
    flag_of,
    part_of,
    read_pose,
)
from kinetree.files.description.sources import NotFoundError, Sources
from kinetree.files.description.xml import Element, show

DEEPEST = 50  # models in models
MOST_NESTED = 16  # includes in includes
NO_LEADING_NAMES = (1, 8)  # first version in which names may not contain "::"
ENDINGS = (".sdf", ".world")
CONFIG, MODEL_FILE = "model.config", "model.sdf"


@dataclass
class Candidate:
    """A model of the file that may be the robot: its element, document and name."""

    element: Element
    document: Document
    name: str
    is_static: bool
    include: Element | None = None  # that names it


@dataclass(frozen=True)
class Absent:
    """A model that an <include> of the world names and that is not there to be read."""

    name: str
    is_static: bool
    reason: str


@dataclass
class Reader:
    """Read models into scopes, with the files and findings of one robot.

    absent: models of the world that are left out, known after `candidates`.
    """

    sources: Sources
    findings: Findings
    absent: list[Absent] = field(default_factory=list[Absent])

    # files

    def open(self, path: Path, chain: tuple[Path, ...] = (), where: str = "") -> Document:
        """The document of a file."""
        root = self.sources.parse(path, path.name, where)
        return document(root, path.parent, (*chain, path.resolve()))

    def included(self, part: Part, outer: Document) -> Document:
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
            raise NotFoundError(
                f"{where}: <uri> {show(uri)} is not found; there is no file {path}."
            )
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
        models: list[Candidate] = []
        for holder in (outer.root, *outer.root.all(WORLD)):
            for child in holder.children:
                if child.tag == MODEL:
                    models.append(self._candidate(child, outer))
                elif child.tag == "include" and holder.tag == WORLD:
                    part = part_of(child, "<include>", self.findings)
                    try:
                        models.append(self._included(part, outer))
                    except NotFoundError as error:
                        self.findings.warn(child, f"a model is left out: {error}")
                        name = part.text("name") or part.text("uri").rstrip("/").split("/")[-1]
                        self.absent.append(Absent(name, flag_of(part, "static"), str(error)))
        return models

    def _candidate(self, element: Element, owner: Document) -> Candidate:
        name = self._name(element, owner)
        part = Part(element, f"model {show(name)}", self.findings, SDF)
        return Candidate(element, owner, name, flag_of(part, "static"))

    def _included(self, part: Part, outer: Document) -> Candidate:
        """The model of an <include>, with the name and pose that the include gives it."""
        inner = self.included(part, outer)
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
        for model in models:
            prefix = "" if model is chosen else f"{model.name}{SEPARATOR}"
            try:
                self.model(model, outer, scope, model.name, prefix, 0)
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

    def model(
        self, given: Candidate, outer: Document, around: Scope, local: str, prefix: str, depth: int
    ) -> Scope:
        """Add a model to the scope around it, with all that it contains."""
        owner = f"model {show(given.name)}"
        part = part_of(given.element, owner, self.findings)
        if depth > DEEPEST:
            raise part.fault(f"models are nested more than {DEEPEST} deep.")
        T, relative_to = read_pose(part)
        placement = given.element.attributes.get("placement_frame", "").strip()
        if given.include is not None:
            asked = Part(given.include, f"<include> of {owner}", self.findings, SDF)
            if asked.has("pose"):
                T, relative_to = read_pose(asked)
            elif relative_to:
                raise asked.fault(
                    f"the included model has a pose relative to {show(relative_to)}, which does "
                    "not exist here; give <include> a <pose>."
                )
            placement = asked.text("placement_frame") or placement
            if asked.text("placement_frame") and not asked.has("pose"):
                raise asked.fault("<placement_frame> needs a <pose> beside it; add one.")
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
        links = {child.attributes.get("name", "") for child in given.element.all(LINK)}
        for child in given.element.children:
            if child.tag == LINK:
                frame = self._new(child, scope, given.document)
                scope.add(frame.name.removeprefix(scope.prefix), frame)
            elif child.tag == JOINT:
                self.joint(child, scope, given.document, links)
            elif child.tag == FRAME:
                self._frame(child, scope, given.document)
            elif child.tag == MODEL:
                nested = self._candidate(child, given.document)
                self._nested(nested, given.document, scope, depth)
            elif child.tag == "include":
                self._include(child, scope, given.document, depth)

    def _nested(self, nested: Candidate, outer: Document, scope: Scope, depth: int) -> None:
        prefix = f"{scope.prefix}{nested.name}{SEPARATOR}"
        self.model(nested, outer, scope, nested.name, prefix, depth + 1)

    def _include(self, element: Element, scope: Scope, outer: Document, depth: int) -> None:
        part = part_of(element, f"<include> in {scope.owner}", self.findings)
        nested = self._included(part, outer)
        if not flag_attribute(part, "merge"):
            self._nested(nested, outer, scope, depth)
            return
        # the content of a merged model belongs to the scope around it, but looks its own names up
        # among themselves: its __model__ is the place where it was included
        local = f"_merged__{nested.name}__model__"
        inner = self.model(nested, outer, scope, local, scope.prefix, depth + 1)
        scope.frames[local].name = f"{scope.prefix}{local}"
        for name, frame in inner.frames.items():
            scope.add(name, frame)

    def joint(
        self, element: Element, scope: Scope, outer: Document, links: Collection[str] = ()
    ) -> Frame:
        """Add a joint to the scope that it stands in; `links`: names of the links beside it."""
        frame = self._new(element, scope, outer)
        part = Part(element, frame.label, self.findings, SDF)
        frame.attached_to = part.text("child")
        if frame.attached_to in ("", WORLD):
            written = repr(frame.attached_to) if frame.attached_to else "none"
            raise part.fault(f"<child> is {written}; expected the name of a link or frame.")
        name = frame.name.removeprefix(scope.prefix)
        is_shared = name in links and outer.version < FIRST_WITH_FRAMES
        scope.add(f"joint {name}" if is_shared else name, frame)
        return frame

    def _frame(self, element: Element, scope: Scope, outer: Document) -> None:
        frame = self._new(element, scope, outer)
        frame.attached_to = element.attributes.get("attached_to", "").strip()
        scope.add(frame.name.removeprefix(scope.prefix), frame)

    def _new(self, element: Element, scope: Scope, outer: Document) -> Frame:
        """The frame of a link, joint or frame, with the name and pose of its element."""
        name = f"{scope.prefix}{self._name(element, outer)}"
        part = part_of(element, f"{element.tag} {show(name)}", self.findings)
        T, relative_to = read_pose(part)
        return Frame(name, element.tag, element, scope, T, relative_to)

    def _name(self, element: Element, owner: Document) -> str:
        part = Part(element, f"<{element.tag}>", self.findings, SDF)
        return check_name(part, part.name("name"), owner.version >= NO_LEADING_NAMES)


def _first_link(scope: Scope) -> str:
    """The default canonical link: the first link of a model, else that of its first model."""
    for name, frame in scope.frames.items():
        if frame.kind == LINK:
            return name
    for name, frame in scope.frames.items():
        if frame.inner is not None and frame.attached_to:
            return f"{name}{SEPARATOR}{frame.attached_to}"
    return ""


def choose(
    models: Sequence[Candidate], absent: Sequence[Absent], name: str | None, root: Element
) -> Candidate:
    """The model that is the robot: the one of that name, or the only one that can move.

    A model that is absent may be the robot, unless it is static: then one that stands still is not
    taken in its place.
    """
    names = ", ".join(show(x.name) for x in models[:12])
    if name is not None:
        found = [x for x in models if x.name == name]
        lost = [x.reason for x in absent if x.name == name]
        if not found and lost:
            raise ParseError(f"model {show(name)} cannot be read: {lost[0]}")
        if len(found) != 1:
            raise InputError(
                f"{root.file} has {len(found) or 'no'} model{'s' if len(found) > 1 else ''} "
                f"{show(name)}; expected one of {names or 'none'}."
            )
        return found[0]
    lost = [x for x in absent if not x.is_static]
    is_alone = len(models) == 1 and not lost
    moving = [x for x in models if is_alone or not x.is_static]
    if len(moving) == 1:
        return moving[0]
    if not moving and lost:
        raise ParseError(
            f"{root.place}: the file has no model that can move, beside {show(lost[0].name)}, "
            f"which cannot be read: {lost[0].reason}"
        )
    if not models:
        raise ParseError(
            f"{root.place}: the file has no <model>; expected one in <sdf> or in its <world>."
        )
    raise ParseError(
        f"{root.place}: the file has {len(models)} models, of which {len(moving)} can move; "
        f"expected one robot. The models are {names}. Choose one by its name: "
        f"{argument('model')}."
    )
