"""SDF (SDFormat 1.2 and later) -> records, for robots that are trees, or have closed loops.

`format` has the words and brings a document to SDF 1.7; `models` opens the models that it includes
and makes scopes of `frames` from them; `elements` makes the records, and `structure` one tree of
them, with constraints for joints that close loops. The base of the robot is the world: a link that
no joint connects to the world is fixed where the file places it, or floats.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from kinetree.errors import ParseError, argument
from kinetree.files.description import records
from kinetree.files.description.collisions import unused
from kinetree.files.description.element import Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import FIXED, FREE
from kinetree.files.description.sdf.elements import link_shapes, read_joint, read_link
from kinetree.files.description.sdf.format import (
    SDF,
    SEPARATOR,
    WORLD,
    Document,
    check_newest,
    document,
)
from kinetree.files.description.sdf.frames import (
    FRAME,
    JOINT,
    LINK,
    Frame,
    between,
    body_of,
    check_references,
)
from kinetree.files.description.sdf.models import Candidate, Reader, choose
from kinetree.files.description.sdf.structure import Loops, away_from, trees
from kinetree.files.description.source import RobotFile, path_text
from kinetree.files.description.sources import Sources
from kinetree.files.description.tree import free_frames, listed, robot_of
from kinetree.files.description.xml import Element, parse_xml, show

DEFAULT_GRAVITY = (0.0, 0.0, -9.8)  # of an SDF world that gives none
STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # of a model without a world, as for URDF


def read_sdf(file: RobotFile) -> records.RobotDescription:
    """Read the robot of an SDF file.

    With `floating`, links that no joint connects to the world hang on free joints, instead of
    being fixed: "base", or "LINK/base" if there are several trees.

    Raises:
        ParseError: the file is not SDF of version 1.2 or later, or not a tree; the message has
            file:line:column and the remedy.
    """
    reader, outer = _opened(file)
    return _Robot(reader, file.floating).read(outer, file.model, file.mimic)


def link_frames(file: RobotFile) -> list[Frame]:
    """The links of the robot as frames, for viewers."""
    reader, outer = _opened(file)
    models = reader.candidates(outer)
    known = file.model if any(x.name == file.model for x in models) else None
    reader.world(outer, models, choose(models, known, outer.root))
    return [x for x in reader.of_robot() if x.kind == LINK]


def _opened(file: RobotFile) -> tuple[Reader, Document]:
    reader = Reader(Sources(file.place, file.folders, own=False), Findings())
    if file.text is None:
        return reader, reader.open(Path(path_text(file.path)))
    return reader, document(parse_xml(file.text, file.name), None)


class _Robot:
    """The records of one robot while they are made."""

    def __init__(self, reader: Reader, floating: bool) -> None:
        self.reader, self.findings, self.floating = reader, reader.findings, floating
        self.links: list[records.LinkDescription] = []
        self.joints: list[records.JointDescription] = []
        self.springs: dict[str, records.Spring] = {}

    def read(self, found: Document, name: str | None, mimic: bool) -> records.RobotDescription:
        """The description of the model of that name, or of the only one."""
        check_newest(found, self.findings)
        models = self.reader.candidates(found)
        chosen = choose(models, name, found.root)
        owner = Part(chosen.element, f"model {show(chosen.name)}", self.findings, SDF)
        others = [show(x.name) for x in models if x is not chosen and not x.absent]
        if others:
            owner.note(f"only it is read, without {listed(others)}.")
        robot = self.reader.world(found, models, chosen)
        self.world, frames = self.reader.frames[WORLD], self.reader.of_robot()
        check_references([robot, *frames])
        links = [frame for frame in frames if frame.kind == LINK]
        joints = [x for x in frames if x.kind == JOINT] + self._world_joints(found, chosen)
        self.links += self.findings.each(partial(read_link, findings=self.findings), links)
        read = partial(read_joint, world=self.world, findings=self.findings)
        parts = self.findings.each(read, joints)
        self.findings.check()
        loops = Loops(parts, self.findings, {x.name for x in self.reader.frames.values()})
        for part in loops.kept:
            self.joints += part.joints
            self.links += part.links
            self.springs |= part.springs
        if not self.links:
            raise owner.fault("it has no <link>.")
        if chosen.is_static:
            self._stop(owner)
            loops = Loops([], self.findings, set())
        self._stand(chosen, owner, robot, frames)
        shapes = [x for frame in links for x in link_shapes(frame, self.findings)]
        more = {"gravity": self._gravity(found), "springs": self.springs}
        more |= {"frames": (*self._frames(frames), *loops.frames), "constrained": loops.record}
        self.findings.notes += self.reader.sources.notes
        return robot_of(chosen.name, self.links, self.joints, shapes, self.findings, mimic, **more)

    def _world_joints(self, found: Document, chosen: Candidate) -> list[Frame]:
        """Joints of the world between it and the robot; those of other models are noted."""
        joints: list[Frame] = []
        for element in (x for holder in found.root.all(WORLD) for x in holder.all(JOINT)):
            part = Part(element, "joint of the world", self.findings, SDF)
            parent, child = part.text("parent"), part.text("child")
            others = [x for x in (parent, child) if x.partition(SEPARATOR)[0] != chosen.name]
            if len(others) == 2:
                part.count("<joint> in <world> of other models is not read")
            elif others in ([], [WORLD]) and child not in others:
                joints.append(self.reader.joint(element, self.world, found))
            else:
                text = f"it connects model {show(chosen.name)} with {show(others[0])}"
                raise part.fault(f"{text}; only one model is read. Put both into one <model>.")
        return joints

    def _stop(self, owner: Part) -> None:
        """Fix all joints of a static model, with a warning."""
        if self.floating:
            raise owner.fault(f"it is <static> and cannot float. Leave out {argument('floating')}.")
        moving = [joint for joint in self.joints if joint.type != FIXED]
        if moving:
            owner.warn(f"it is <static>: its {len(moving)} joints do not move.")
        self.springs = {}
        keys = ("name", "parent", "child", "M_pc", "where")
        kept = ({key: getattr(x, key) for key in keys} for x in self.joints)
        self.joints = [records.JointDescription(type=FIXED, **x) for x in kept]

    def _stand(self, chosen: Candidate, owner: Part, robot: Frame, frames: Sequence[Frame]) -> None:
        """Add the world as the base, and joints to it from links that no joint connects to it.

        These joints are fixed, or free if the robot floats.
        """
        to_world = [joint for joint in self.joints if joint.parent == WORLD]
        roots = self._loose_roots(robot, frames)
        if self.floating and not roots:
            text = f"joint {show(to_world[0].name)} connects it to the world, so it cannot float"
            raise owner.fault(f"{text}. Delete the joint, or leave out {argument('floating')}.")
        self.joints = away_from([WORLD, *(x.name for x in roots)], self.joints, self.findings)
        moved = [x for x in roots if bool(np.any(np.eye(4) != between(self.world, x)))]
        if self.floating and moved:
            owner.note(f"the pose of {_links(moved)} in the world is left to q.")
        self.joints[:0] = [self._to_world(root, len(roots)) for root in roots]
        self.links.insert(0, records.LinkDescription(WORLD, where=chosen.element.where))
        if self.floating or chosen.is_static or not roots:
            return
        tell = owner.warn if to_world or len(roots) > 1 else owner.note
        tell(
            f"no joint connects {_links(roots)} to the world: fixed there. Load the model with "
            f"{argument('floating', True)} to let that move freely."
        )

    def _loose_roots(self, model: Frame, frames: Sequence[Frame]) -> list[Frame]:
        """The root of each tree of links that no joint connects to the world.

        The root is the link that no joint has as its child; if there is not just one, the
        canonical link of the model or else the first link.
        """
        children = {joint.child for joint in self.joints}
        known = {x.name: x for x in frames if x.kind == LINK}
        canonical = body_of(model)
        roots: list[Frame] = []
        for names in trees([*known, WORLD], self.joints):
            if WORLD not in names:
                links = [known[name] for name in names if name in known]
                tops = [x for x in links if x.name not in children]
                others = [x for x in links if x is canonical] or links
                roots.append(tops[0] if len(tops) == 1 else others[0])
        return roots

    def _to_world(self, root: Frame, count: int) -> records.JointDescription:
        """A joint of the world to a root: fixed where the file has it, or free."""
        taken = {joint.name for joint in self.joints}
        start = "base" if self.floating else "world_joint"
        if self.floating and start in taken:
            start = "kinetree_base"  # as for robots of other formats
        return records.JointDescription(
            name=unused(start if count == 1 else f"{root.name}/{start}", taken),
            type=FREE if self.floating else FIXED,
            parent=WORLD,
            child=root.name,
            M_pc=np.eye(4, dtype=int) if self.floating else between(self.world, root),
            where=root.element.where,
        )

    def _frames(self, frames: Sequence[Frame]) -> list[records.FrameDescription]:
        """The <frame> elements of the robot, and those of the world that are fixed to it."""
        links = {link.name for link in self.links}
        of_world = [x for x in self.reader.frames.values() if x.model is self.world]
        given: list[tuple[Element, records.FrameDescription]] = []
        for frame in (x for x in (*frames, *of_world) if x.kind == FRAME):
            try:
                body = body_of(frame)
                record = records.FrameDescription(frame.name, body.name, between(body, frame))
            except ParseError as error:  # one of the world may refer to a model that was not found
                self.findings.warn(frame.element, f"a frame of the world is left out: {error}")
                continue
            if body.name in links:
                given.append((frame.element, record))
            else:
                self.findings.count(frame.element, "<frame> of another model is not read")
        return free_frames(given, self.links, self.findings)

    def _gravity(self, found: Document) -> tuple[float, ...]:
        worlds = found.root.all(WORLD)
        if not worlds:
            return STANDARD_GRAVITY
        part = Part(worlds[0], WORLD, self.findings, SDF)
        for inside in (x for physics in worlds[0].all("physics") for x in physics.all("gravity")):
            if inside not in worlds[0].children:  # where SDF before 1.6 has it
                text = "<gravity> inside <physics> is not read since SDF 1.6; move it into <world>."
                self.findings.warn(inside, text)
        if not part.has("gravity"):
            part.note("no <gravity>: 0 0 -9.8 by the rules of SDF.")
        return part.numbers("gravity", 3, DEFAULT_GRAVITY)


def _links(roots: Sequence[Frame]) -> str:
    """The words for some links."""
    return f"link{'s' if len(roots) > 1 else ''} {listed([show(x.name) for x in roots])}"
