"""SDF (SDFormat 1.7 and later) -> records, for robots that are a tree.

`parts` reads values strictly; `files` opens the file and the models that it includes; `models`
makes scopes of `frames` from them; `links` and `joints` make the records. The base of the robot is
the world: a model that no joint connects to the world is fixed where the file places it.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree.description.findings import Findings, fault
from kinetree.description.joints import FIXED
from kinetree.description.records import (
    FrameDescription,
    JointDescription,
    LinkDescription,
    Mesh,
    RobotDescription,
)
from kinetree.description.sdf.files import Document, Files, check_newest, document
from kinetree.description.sdf.frames import (
    FRAME,
    JOINT,
    LINK,
    Frame,
    Scope,
    between,
    body_of,
    unique_name,
)
from kinetree.description.sdf.joints import read_joint
from kinetree.description.sdf.links import numbers_in, read_link, read_meshes
from kinetree.description.sdf.models import Candidate, Reader, choose
from kinetree.description.sdf.parts import SEPARATOR, WORLD, text_of
from kinetree.description.source import decode, path_text
from kinetree.description.tree import check_tree
from kinetree.description.urdf.parts import Part
from kinetree.description.urdf.structure import follow
from kinetree.description.xml import parse_xml, show
from kinetree.errors import InputError, ModelError, NameLookupError, ParseError

DEFAULT_GRAVITY = (0.0, 0.0, -9.8)  # of an SDF world that gives none
STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # of a model without a world, as for URDF


def read_sdf(
    path: str | os.PathLike[str],
    *,
    folders: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
    floating: bool = False,
    model: str | None = None,
) -> RobotDescription:
    """Read the robot of an SDF file.

    Args:
        path: the file.
        folders: folders with the models and files that it includes.
        mimic: False leaves every <mimic> out; all joints then move on their own.
        floating: do not fix the robot in the world; its root link stays the root.
        model: name of the model, for a world with several.

    Raises:
        ParseError: the file is not SDF of version 1.7 or later, or not a tree; the message has
            file:line:column and the remedy.
    """
    path_text(path)
    findings = Findings()
    files = Files(folders, findings)
    return _Robot(files, findings, mimic, floating).read(files.open(path), model)


def read_sdf_text(
    text: str | bytes,
    *,
    name: str = "robot.sdf",
    folders: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
    floating: bool = False,
    model: str | None = None,
) -> RobotDescription:
    """Read the robot of an SDF text; `name` is the file in messages, others as of `read_sdf`."""
    if not isinstance(text, str | bytes):
        raise InputError(f"text is {type(text).__name__}; expected str or bytes.")
    findings = Findings()
    root = parse_xml(decode(text, name) if isinstance(text, bytes) else text, name)
    files = Files(folders, findings)
    return _Robot(files, findings, mimic, floating).read(document(root, None), model)


class _Robot:
    """The records of one robot while they are made."""

    def __init__(self, files: Files, findings: Findings, mimic: bool, floating: bool) -> None:
        self.files, self.findings = files, findings
        self.mimic, self.floating = mimic, floating
        self.links: list[LinkDescription] = []
        self.joints: list[JointDescription] = []

    def read(self, found: Document, name: str | None) -> RobotDescription:
        """The description of the model of that name, or of the only one."""
        check_newest(found, self.findings)
        reader = Reader(self.files, self.findings)
        models = reader.candidates(found)
        chosen = choose(models, name, found.root)
        others = [show(x.name) for x in models if x is not chosen]
        if others:
            text = f"only model {show(chosen.name)} is read, without {', '.join(others[:8])}."
            self.findings.note(chosen.element, text)
        world = reader.world(found, models, chosen)
        robot = world.frames[chosen.name].inner
        assert robot is not None
        frames = list(robot.every())
        outside = self._world_joints(reader, found, world, chosen)
        for frame in frames:
            if frame.kind == LINK:
                self.links.append(read_link(frame, self.findings))
        for frame in (*frames, *outside):
            if frame.kind == JOINT:
                parts = read_joint(frame, world.origin, self.findings)
                self.joints += parts.joints
                self.links += parts.links
        if not self.links:
            raise fault(chosen.element, f"model {show(chosen.name)}", "it has no <link>.")
        if robot.is_static:
            self._stop(chosen)
        self._stand(chosen, world, frames)
        self._check_tree(chosen)
        joints = [replace(j, mimic=None) for j in self.joints] if not self.mimic else self.joints
        return RobotDescription(
            name=chosen.name,
            links=tuple(self.links),
            joints=tuple(follow(joints, self.findings)),
            frames=tuple(self._frames(world, frames)),
            gravity=self._gravity(found),
            meshes=tuple(self._meshes(frames)),
            notes=self.findings.all_notes(),
            warnings=self.findings.all_warnings(),
        )

    def _world_joints(
        self, reader: Reader, found: Document, world: Scope, chosen: Candidate
    ) -> list[Frame]:
        """Joints of the world between it and the robot; those of other models are noted."""
        joints: list[Frame] = []
        for holder in found.root.all(WORLD):
            for element in holder.all(JOINT):
                part = Part(element, "joint of the world", self.findings)
                ends = [text_of(part, "parent"), text_of(part, "child")]
                own = [x.partition(SEPARATOR)[0] == chosen.name for x in ends]
                if not any(own):
                    part.count("<joint> in <world> of other models is not read")
                    continue
                if not own[1] or not (own[0] or ends[0] == WORLD):
                    other = ends[1] if not own[1] else ends[0]
                    raise part.fault(
                        f"it connects model {show(chosen.name)} with {show(other)}; only one model "
                        "is read. Put both models into one <model>."
                    )
                joints.append(reader.joint(element, world, found))
        return joints

    def _stop(self, chosen: Candidate) -> None:
        """Fix all joints of a static model, with a warning."""
        moving = [joint for joint in self.joints if joint.type != FIXED]
        if moving:
            self.findings.warn(
                chosen.element,
                f"model {show(chosen.name)} is <static>: its {len(moving)} joints do not move. "
                "Delete <static> to let them.",
            )
        self.joints = [
            JointDescription(name=x.name, type=FIXED, parent=x.parent, child=x.child, M_pc=x.M_pc,
                             where=x.where)
            for x in self.joints
        ]  # fmt: skip
        if self.floating:
            raise fault(
                chosen.element,
                f"model {show(chosen.name)}",
                "it is <static> and cannot float. Delete <static>, or leave out --floating (in "
                "Python, floating).",
            )

    def _stand(self, chosen: Candidate, world: Scope, frames: Sequence[Frame]) -> None:
        """Add the world as the base, and a fixed joint to it if no joint leads there."""
        to_world = [joint for joint in self.joints if joint.parent == WORLD]
        if self.floating and to_world:
            raise fault(
                chosen.element,
                f"model {show(chosen.name)}",
                f"joint {show(to_world[0].name)} connects it to the world, so it cannot float. "
                "Delete the joint, or leave out --floating (in Python, floating).",
            )
        children = {joint.child for joint in self.joints}
        roots = [x for x in frames if x.kind == LINK and x.name not in children]
        if not to_world and len(roots) == 1:
            root = roots[0]
            T = between(world.origin, root)
            is_moved = bool(np.any(T != np.eye(4)))
            if self.floating:
                if is_moved:
                    text = f"the pose of link {show(root.name)} in the world is left to q."
                    self.findings.note(root.element, text)
                return
            name = unique_name("world_joint", (joint.name for joint in self.joints))
            weld = JointDescription(name=name, type=FIXED, parent=WORLD, child=root.name, M_pc=T,
                                    where=root.element.where)  # fmt: skip
            self.joints.insert(0, weld)
            if not chosen.is_static:
                self.findings.note(
                    chosen.element,
                    f"no joint connects the model to the world; link {show(root.name)} is fixed "
                    "there. Load it with --floating (in Python, floating=True) if it moves freely.",
                )
        if self.joints and any(joint.parent == WORLD for joint in self.joints):
            self.links.insert(0, LinkDescription(WORLD, where=chosen.element.where))

    def _check_tree(self, chosen: Candidate) -> None:
        """Raise ParseError unless links and joints form one tree."""
        try:
            _refuse_loops(self.joints)
            check_tree(self.links, self.joints, chosen.name)
        except (ModelError, NameLookupError) as error:
            raise ParseError(str(error)) from None

    def _frames(self, world: Scope, frames: Sequence[Frame]) -> list[FrameDescription]:
        """The <frame> elements, each fixed to a link."""
        taken = {link.name for link in self.links}
        records: list[FrameDescription] = []
        outer = [x for x in world.frames.values() if x.kind == FRAME]
        for frame in (*frames, *outer):
            if frame.kind != FRAME:
                continue
            body = body_of(frame)
            if body.name not in taken:  # of another model, or the world of a floating robot
                self.findings.count(frame.element, "<frame> of another model is not read")
                continue
            if any(frame.name == other.name for other in records):
                self.findings.warn(frame.element, f"{frame.label} is there twice; skipped.")
                continue
            records.append(FrameDescription(frame.name, body.name, between(body, frame)))
        return records

    def _meshes(self, frames: Sequence[Frame]) -> list[Mesh]:
        links = [frame for frame in frames if frame.kind == LINK]
        return [mesh for link in links for mesh in read_meshes(link, self.findings)]

    def _gravity(self, found: Document) -> tuple[float, ...]:
        worlds = found.root.all(WORLD)
        if not worlds:
            return STANDARD_GRAVITY
        part = Part(worlds[0], WORLD, self.findings)
        if not worlds[0].all("gravity"):
            part.note("no <gravity>: 0 0 -9.8 by the rules of SDF.")
        return numbers_in(part, "gravity", 3, DEFAULT_GRAVITY)


def _refuse_loops(joints: Sequence[JointDescription]) -> None:
    """Raise ModelError with the names of the joints if some form a loop, in whatever direction."""
    joined: dict[str, list[tuple[str, JointDescription]]] = {}
    group: dict[str, str] = {}

    def top(link: str) -> str:
        while group.setdefault(link, link) != link:
            group[link] = group[group[link]]
            link = group[link]
        return link

    for joint in joints:
        a, b = top(joint.parent), top(joint.child)
        if a == b:
            way = [*_way(joined, joint.parent, joint.child), joint]
            names = ", ".join(show(x.name) for x in way[:8])
            raise ModelError(
                f"{joint.where}: the joints {names} form a loop; expected a tree. Cut the loop at "
                "one of them."
            )
        group[a] = b
        for end, other in ((joint.parent, joint.child), (joint.child, joint.parent)):
            joined.setdefault(end, []).append((other, joint))
    above: dict[str, JointDescription] = {}
    for joint in joints:
        first = above.setdefault(joint.child, joint)
        if first is not joint:
            raise ModelError(
                f"{joint.where}: link {show(joint.child)} is the child of two joints, "
                f"{show(first.name)} and {show(joint.name)}; expected one. Swap <parent> and "
                "<child> of the one that leads away from the base."
            )


def _way(
    joined: dict[str, list[tuple[str, JointDescription]]], start: str, end: str
) -> list[JointDescription]:
    """The joints on the way between two links."""
    came: dict[str, tuple[str, JointDescription]] = {}
    waiting = [start]
    while waiting:
        link = waiting.pop()
        for other, joint in joined.get(link, []):
            if other != start and other not in came:
                came[other] = link, joint
                waiting.append(other)
    way: list[JointDescription] = []
    while end != start:
        end, joint = came[end]
        way.append(joint)
    return way
