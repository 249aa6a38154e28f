"""Models of an SDF file as scopes of frames: nested and included models, merged ones, the world.

Only names, poses and attachment are read here; `elements` reads the rest.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from kinetree.errors import InputError, ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.sdf.files import Files, NotFoundError
from kinetree.files.description.sdf.frames import FRAME, JOINT, LINK, MODEL, Frame, Scope, new_world
from kinetree.files.description.sdf.parts import (
    SEPARATOR,
    WORLD,
    check_name,
    child_of,
    flag_attribute,
    flag_of,
    name_of,
    part_of,
    read_pose,
    text_of,
)
from kinetree.files.description.sdf.versions import FIRST_WITH_FRAMES, Document
from kinetree.files.description.urdf.parts import Part
from kinetree.files.description.xml import Element, show

DEEPEST = 50  # models in models
NO_LEADING_NAMES = (1, 8)  # first version in which names may not contain "::"


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

    files: Files
    findings: Findings
    absent: list[Absent] = field(default_factory=list["Absent"])

    def candidates(self, outer: Document) -> list[Candidate]:
        """The models directly in <sdf> or in its <world>."""
        models: list[Candidate] = []
        for holder in (outer.root, *outer.root.all("world")):
            for child in holder.children:
                if child.tag == MODEL:
                    models.append(self._candidate(child, outer))
                elif child.tag == "include" and holder.tag == WORLD:
                    part = part_of(child, "<include>", self.findings)
                    try:
                        models.append(self._included(part, outer))
                    except NotFoundError as error:
                        self.findings.warn(child, f"a model is left out: {error}")
                        name = text_of(part, "name") or last_part(text_of(part, "uri"))
                        self.absent.append(Absent(name, flag_of(part, "static"), str(error)))
        return models

    def _candidate(self, element: Element, owner: Document) -> Candidate:
        name = name_of(element, self.findings, owner.version >= NO_LEADING_NAMES)
        part = Part(element, f"model {show(name)}", self.findings)
        return Candidate(element, owner, name, flag_of(part, "static"))

    def _included(self, part: Part, outer: Document) -> Candidate:
        """The model of an <include>, with the name and pose that the include gives it."""
        inner = self.files.included(part, outer)
        models = inner.root.all(MODEL)
        if len(models) != 1:
            raise part.fault(
                f"the included file {show(inner.root.file)} has {len(models)} models; expected one."
            )
        model = self._candidate(models[0], inner)
        name = text_of(part, "name") or model.name
        check_name(part, name, outer.version >= NO_LEADING_NAMES)
        is_static = flag_of(part, "static", model.is_static)
        return replace(model, name=name, is_static=is_static, include=part.element)

    def world(self, outer: Document, models: Sequence[Candidate], chosen: Candidate) -> Scope:
        """The scope of the world with all its models and frames; names of `chosen` have no prefix.

        World frames that refer to models which were not found are left out with a note.
        """
        scope = new_world(outer.root, self.findings)
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

    def model(
        self,
        given: Candidate,
        outer: Document,
        around: Scope,
        local: str,
        prefix: str,
        depth: int,
    ) -> Scope:
        """Add a model to the scope around it, with all that it contains."""
        owner = f"model {show(given.name)}"
        part = part_of(given.element, owner, self.findings)
        if depth > DEEPEST:
            raise part.fault(f"models are nested more than {DEEPEST} deep.")
        T, relative_to = read_pose(child_of(part, "pose"))
        placement = given.element.attributes.get("placement_frame", "").strip()
        if given.include is not None:
            asked = Part(given.include, f"<include> of {owner}", self.findings)
            pose = child_of(asked, "pose")
            if pose is not None:
                T, relative_to = read_pose(pose)
            elif relative_to:
                raise asked.fault(
                    f"the included model has a pose relative to {show(relative_to)}, which does "
                    "not exist here; give <include> a <pose>."
                )
            placement = text_of(asked, "placement_frame") or placement
            if text_of(asked, "placement_frame") and pose is None:
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
                self._link(child, scope, given.document)
            elif child.tag == JOINT:
                self.joint(child, scope, given.document, links)
            elif child.tag == FRAME:
                self._frame(child, scope, given.document)
            elif child.tag == MODEL:
                nested = self._candidate(child, given.document)
                prefix = f"{scope.prefix}{nested.name}{SEPARATOR}"
                self.model(nested, given.document, scope, nested.name, prefix, depth + 1)
            elif child.tag == "include":
                self._include(child, scope, given.document, depth)

    def _include(self, element: Element, scope: Scope, outer: Document, depth: int) -> None:
        part = part_of(element, f"<include> in {scope.owner}", self.findings)
        nested = self._included(part, outer)
        if not flag_attribute(part, "merge"):
            prefix = f"{scope.prefix}{nested.name}{SEPARATOR}"
            self.model(nested, outer, scope, nested.name, prefix, depth + 1)
            return
        # the content of a merged model belongs to the scope around it, but looks its own names up
        # among themselves: its __model__ is the place where it was included
        local = f"_merged__{nested.name}__model__"
        inner = self.model(nested, outer, scope, local, scope.prefix, depth + 1)
        scope.frames[local].name = f"{scope.prefix}{local}"
        for name, frame in inner.frames.items():
            scope.add(name, frame)

    def _link(self, element: Element, scope: Scope, outer: Document) -> None:
        name = name_of(element, self.findings, outer.version >= NO_LEADING_NAMES)
        part = part_of(element, f"link {show(scope.prefix + name)}", self.findings)
        T, relative_to = read_pose(child_of(part, "pose"))
        scope.add(name, Frame(scope.prefix + name, LINK, element, scope, T, relative_to))

    def joint(
        self, element: Element, scope: Scope, outer: Document, links: Collection[str] = ()
    ) -> Frame:
        """Add a joint to the scope that it stands in; `links`: names of the links beside it."""
        name = name_of(element, self.findings, outer.version >= NO_LEADING_NAMES)
        part = part_of(element, f"joint {show(scope.prefix + name)}", self.findings)
        T, relative_to = read_pose(child_of(part, "pose"))
        child = text_of(part, "child")
        frame = Frame(scope.prefix + name, JOINT, element, scope, T, relative_to, child)
        if not child or child == WORLD:
            written = "none" if not child else "'world'"
            raise part.fault(f"<child> is {written}; expected the name of a link or frame.")
        is_shared = name in links and outer.version < FIRST_WITH_FRAMES
        scope.add(f"joint {name}" if is_shared else name, frame)
        return frame

    def _frame(self, element: Element, scope: Scope, outer: Document) -> None:
        name = name_of(element, self.findings, outer.version >= NO_LEADING_NAMES)
        part = part_of(element, f"frame {show(scope.prefix + name)}", self.findings)
        T, relative_to = read_pose(child_of(part, "pose"))
        attached_to = element.attributes.get("attached_to", "").strip()
        scope.add(
            name,
            Frame(scope.prefix + name, FRAME, element, scope, T, relative_to, attached_to),
        )


def _first_link(scope: Scope) -> str:
    """The default canonical link: the first link of a model, else that of its first model."""
    for name, frame in scope.frames.items():
        if frame.kind == LINK:
            return name
    for name, frame in scope.frames.items():
        if frame.inner is not None and frame.attached_to:
            return f"{name}{SEPARATOR}{frame.attached_to}"
    return ""


def last_part(uri: str) -> str:
    """The last word of a path: the name of the model of a URI."""
    return uri.rstrip("/").rpartition("/")[2]


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
    movable = [x for x in absent if not x.is_static]
    is_alone = len(models) == 1 and not movable
    moving = models if is_alone else [x for x in models if not x.is_static]
    if len(moving) == 1:
        return moving[0]
    if not moving and movable:
        raise ParseError(
            f"{root.place}: the file has no model that can move, beside {show(movable[0].name)}, "
            f"which cannot be read: {movable[0].reason}"
        )
    if not models:
        raise ParseError(
            f"{root.place}: the file has no <model>; expected one in <sdf> or in its <world>."
        )
    raise ParseError(
        f"{root.place}: the file has {len(models)} models, of which {len(moving)} can move; "
        f"expected one robot. The models are {names}. Choose one by its name (model= in Python, "
        "--model on the command line)."
    )
