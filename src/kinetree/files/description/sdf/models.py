"""Models of an SDF file as frames: nested and included models, merged ones, the world.

Only names, poses and attachment are read here; `elements` reads the rest.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kinetree.core.text import listing
from kinetree.errors import InputError, ParseError, argument
from kinetree.files.description.element import Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.sdf import format
from kinetree.files.description.sdf.format import SDF, SEPARATOR, WORLD, Document, flag_of, part_of
from kinetree.files.description.sdf.frames import FRAME, JOINT, LINK, MODEL, Frame
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


@dataclass
class Reader:
    """Read models into frames, with the files and findings of one robot.

    frames: all of the file, by their names behind those of the models around them. robot: name of
    the model that is the robot, which the names of its frames do not begin with.
    """

    sources: Sources
    findings: Findings
    frames: dict[str, Frame] = field(default_factory=dict[str, Frame])
    robot: str = ""

    # files

    def open(self, path: Path, chain: tuple[Path, ...] = (), where: str = "") -> Document:
        """The document of a file."""
        root = self.sources.parse(path, path.name, where)
        return format.document(root, path.parent, (*chain, path.resolve()))

    def _opened(self, part: Part, outer: Document) -> Document:
        """The document that an <include> names."""
        uri, where = part.text("uri"), f"{part.element.place}: {part.owner}"
        if not uri:
            raise part.fault("<include> has no <uri>; expected model://NAME or file://PATH.")
        if len(outer.chain) > MOST_NESTED:
            raise part.fault(f"files include each other more than {MOST_NESTED} deep.")
        path = self._locate(uri, outer.folder, where)
        # any other file may be secret, and an error would show its beginning
        if path.suffix.lower() not in ENDINGS or path.resolve() in outer.chain:
            text = f"expected another file that ends with {' or '.join(ENDINGS)}"
            raise part.fault(f"<uri> is {show(uri)}; {text}.")
        try:
            return self.open(path, outer.chain, where)
        except InputError as error:
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
            raise NotFoundError(f"{where}: <uri> {show(uri)}: there is no file {path}.")
        return path

    def _model_file(self, folder: Path, uri: str, where: str) -> str:
        config = folder / CONFIG
        if not config.is_file():
            return MODEL_FILE
        root = self.sources.parse(self.sources.check(config, uri, where), CONFIG, where)
        listed = [(format.version_of(x) or (1, 0), x.value) for x in root.all("sdf") if x.value]
        known = [x for x in listed if x[0] <= format.NEWEST] or listed
        return max(known)[1] if known else MODEL_FILE

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
        models, file = inner.root.all(MODEL), show(inner.root.file)
        if len(models) != 1:
            raise part.fault(f"the included file {file} has {len(models)} models; expected one.")
        model = self._candidate(models[0], inner)
        name = part.text("name") or model.name
        format.check_name(part, name, outer.version >= NO_LEADING_NAMES)
        is_static = flag_of(part, "static", model.is_static)
        return replace(model, name=name, is_static=is_static, include=part.element)

    def world(self, outer: Document, models: Sequence[Candidate], chosen: Candidate) -> Frame:
        """Add the world with all its models and frames, and return the frame of `chosen`.

        World frames that refer to models which were not found are left out with a note.
        """
        self.robot = chosen.name
        world = Frame(WORLD, WORLD, outer.root, self.frames).add(WORLD)
        for model in (x for x in models if not x.absent):
            try:
                self._model(model, world, model.name)
            except NotFoundError as error:
                if model is chosen:
                    raise
                self.findings.warn(model.element, f"a part of another model is left out: {error}")
        for holder in outer.root.all(WORLD):
            part_of(holder, WORLD, self.findings)
            for child in holder.all(FRAME):
                self._add(child, world, outer, child.attributes.get("attached_to", "").strip())
        return self.frames[chosen.name]

    def of_robot(self) -> list[Frame]:
        """The frames in the robot, in the order of the file."""
        return [x for key, x in self.frames.items() if key.startswith(f"{self.robot}{SEPARATOR}")]

    # models

    def _model(
        self, given: Candidate, around: Frame, key: str, is_static: bool = False, depth: int = 0,
        inner: str | None = None,
    ) -> Frame:  # fmt: skip
        """Add a model to the one around it, with all that it contains.

        inner: put before the names of its content; None: its own name.
        """
        owner = f"model {show(given.name)}"
        part = part_of(given.element, owner, self.findings)
        if depth > DEEPEST:
            raise part.fault(f"models are nested more than {DEEPEST} deep.")
        T, relative_to = format.read_pose(part)
        placement = given.element.attributes.get("placement_frame", "").strip()
        if given.include is not None:
            asked = Part(given.include, f"<include> of {owner}", self.findings, SDF)
            placed = asked.text("placement_frame")
            if asked.has("pose"):
                T, relative_to = format.read_pose(asked)
            elif relative_to or placed:
                text = "its <placement_frame>, or a pose of the model relative to another frame"
                raise asked.fault(f"{text}, needs a <pose> of <include>; add one.")
            placement = placed or placement
        if given.is_static and depth and not is_static:
            text = "<static> of a nested model in a model that moves is not supported"
            raise part.fault(f"{text}. Connect its links by fixed joints.")
        inner = f"{key}{SEPARATOR}" if inner is None else inner
        frame = Frame(
            self._own_name(key), MODEL, given.element, self.frames, around.inner, around, T,
            relative_to, "", placement, inner,
        ).add(key)  # fmt: skip
        before = len(self.frames)
        self._content(given, frame, is_static or given.is_static, depth)
        inside = list(self.frames.items())[before:]
        links = [x for x, f in inside if f.kind == LINK and f.scope == inner]
        nested = [(x, f.attached_to) for x, f in inside if f.kind == MODEL and f.attached_to]
        links += [f"{x}{SEPARATOR}{link}" for x, link in nested]
        canonical = given.element.attributes.get("canonical_link", "").strip()
        frame.attached_to = canonical or next(iter(links), inner).removeprefix(inner)
        return frame

    def _content(self, given: Candidate, model: Frame, is_static: bool, depth: int) -> None:
        outer = given.document
        links = {child.attributes.get("name", "") for child in given.element.all(LINK)}
        for child in given.element.children:
            if child.tag == LINK:
                self._add(child, model, outer)
            elif child.tag == JOINT:
                self.joint(child, model, outer, links)
            elif child.tag == FRAME:
                self._add(child, model, outer, child.attributes.get("attached_to", "").strip())
            elif child.tag == MODEL:
                nested = self._candidate(child, outer)
                self._model(nested, model, f"{model.inner}{nested.name}", is_static, depth + 1)
            elif child.tag == "include":
                part = part_of(child, f"<include> in {model.label}", self.findings)
                nested, inner = self._included(part, outer), None
                key = f"{model.inner}{nested.name}"
                if format.flag_attribute(part, "merge"):
                    # the content belongs to the model around it, but its __model__ is the place
                    # where it was included
                    key, inner = f"{model.inner}_merged__{nested.name}__model__", model.inner
                self._model(nested, model, key, is_static, depth + 1, inner)

    def joint(
        self, element: Element, model: Frame, outer: Document, links: Collection[str] = ()
    ) -> Frame:
        """Add a joint to the model that it stands in; `links`: names of the links beside it."""
        name = element.attributes.get("name", "")
        part = Part(element, f"joint {show(name)}", self.findings, SDF)
        child = part.text("child")
        if child in ("", WORLD):
            raise part.fault(
                f"<child> is {child or 'absent'}; expected the name of a link or frame."
            )
        is_shared = name in links and outer.version < format.FIRST_WITH_FRAMES
        return self._add(element, model, outer, child, "joint " if is_shared else "")

    def _add(
        self, element: Element, model: Frame, outer: Document, attached_to: str = "", mark: str = ""
    ) -> Frame:
        """Add the frame of a link, joint or frame, with the name and pose of its element."""
        local = self._name(element, outer)
        name = self._own_name(f"{model.inner}{local}")
        T, relative_to = format.read_pose(
            part_of(element, f"{element.tag} {show(name)}", self.findings)
        )
        kind, scope = element.tag, model.inner
        frame = Frame(name, kind, element, self.frames, scope, model, T, relative_to, attached_to)
        return frame.add(f"{model.inner}{mark}{local}")

    def _name(self, element: Element, owner: Document) -> str:
        part = Part(element, f"<{element.tag}>", self.findings, SDF)
        return format.check_name(part, part.name("name"), owner.version >= NO_LEADING_NAMES)

    def _own_name(self, key: str) -> str:
        """A name as it is in the robot."""
        return key.removeprefix(f"{self.robot}{SEPARATOR}")


def choose(models: Sequence[Candidate], name: str | None, root: Element) -> Candidate:
    """The model that is the robot: the one of that name, or the only one that can move.

    A model that is absent may be the robot, unless it is static: then one that stands still is not
    taken in its place.
    """
    there = [x for x in models if not x.absent]
    if name is not None:
        chosen = [x for x in there if x.name == name] or [x for x in models if x.name == name]
    else:
        moving = [x for x in there if len(models) == 1 or not x.is_static]
        lost = [x for x in models if x.absent and not x.is_static]
        chosen = moving or lost or (there if len(there) == 1 else [])
    if chosen and chosen[0].absent:
        more = "" if name else ", and the file has no other model that can move"
        text = f"model {show(chosen[0].name)} cannot be read{more}: {chosen[0].absent}"
        raise ParseError(f"{root.place}: {text}")
    if len(chosen) == 1:
        return chosen[0]
    if not there:
        raise ParseError(
            f"{root.place}: the file has no <model>; expected one in <sdf> or <world>."
        )
    asked = "can move" if name is None else f"are called {show(name)}"
    names = listing((x.name for x in there), 12)
    raise (ParseError if name is None else InputError)(
        f"{root.place}: of {len(there)} models {len(chosen)} {asked}; expected one robot. Choose "
        f"one by its name, {argument('model')}: {names}."
    )
