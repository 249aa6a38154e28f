"""SDF (SDFormat 1.7 and later) -> records, for robots that are a tree, or one with closed loops.

`parts` reads values strictly; `files` opens the file and the models that it includes; `models`
makes scopes of `frames` from them; `links` and `joints` make the records, and `loops` constraints
of joints that close loops. The base of the robot is the world: a model that no joint connects to
the world is fixed where the file places it.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.findings import Findings, fault
from kinetree.description.joints import FIXED
from kinetree.description.records import (
    FrameDescription,
    JointDescription,
    LinkDescription,
    Mesh,
    RobotDescription,
    Spring,
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
    check_references,
    unique_name,
)
from kinetree.description.sdf.joints import read_joint
from kinetree.description.sdf.links import numbers_in, read_link, read_meshes
from kinetree.description.sdf.loops import Loops
from kinetree.description.sdf.models import Candidate, Reader, choose
from kinetree.description.sdf.parts import SEPARATOR, WORLD, text_of
from kinetree.description.sdf.structure import away_from, check_joints
from kinetree.description.source import decode, path_text
from kinetree.description.urdf.parts import Part
from kinetree.description.urdf.structure import follow
from kinetree.description.xml import parse_xml, show
from kinetree.errors import InputError, ParseError

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


def link_frames(
    path: str | os.PathLike[str],
    *,
    folders: Sequence[str | os.PathLike[str]] = (),
    model: str | None = None,
    text: str | None = None,
) -> list[Frame]:
    """The links of the robot as frames, for viewers; `text` is the content if it is in no file."""
    findings = Findings()
    files = Files(folders, findings)
    name = os.path.basename(path)
    found = files.open(path) if text is None else document(parse_xml(text, name), None)
    reader = Reader(files, findings)
    models = reader.candidates(found)
    known = model if any(x.name == model for x in models) else None
    chosen = choose(models, known, found.root)
    robot = reader.world(found, models, chosen).frames[chosen.name].inner
    return [x for x in ([] if robot is None else robot.every()) if x.kind == LINK]


class _Robot:
    """The records of one robot while they are made."""

    def __init__(self, files: Files, findings: Findings, mimic: bool, floating: bool) -> None:
        self.files, self.findings = files, findings
        self.mimic, self.floating = mimic, floating
        self.links: list[LinkDescription] = []
        self.joints: list[JointDescription] = []
        self.springs: dict[str, Spring] = {}

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
        check_references([world.frames[chosen.name], *frames])
        outside = self._world_joints(reader, found, world, chosen)
        for frame in frames:
            if frame.kind == LINK:
                self.links.append(read_link(frame, self.findings))
        loops = self._add_joints([x for x in (*frames, *outside) if x.kind == JOINT], world, frames)
        if not self.links:
            raise fault(chosen.element, f"model {show(chosen.name)}", "it has no <link>.")
        if robot.is_static:
            self._stop(chosen)
        self._stand(chosen, world, frames)
        check_joints(self.links, self.joints, chosen.name)
        joints = [replace(j, mimic=None) for j in self.joints] if not self.mimic else self.joints
        closed = Loops([], self.findings, set()) if robot.is_static else loops
        return RobotDescription(
            name=chosen.name,
            links=tuple(self.links),
            joints=tuple(follow(joints, self.findings)),
            frames=(*self._frames(world, frames), *closed.frames),
            gravity=self._gravity(found),
            springs=self.springs,
            meshes=tuple(self._meshes(frames)),
            notes=self.findings.all_notes(),
            warnings=self.findings.all_warnings(),
            constrained=closed.record,
        )

    def _add_joints(self, joints: Sequence[Frame], world: Scope, frames: Sequence[Frame]) -> Loops:
        """Add the records of all joints but those that close loops, which are returned."""
        parts = [read_joint(frame, world.origin, self.findings) for frame in joints]
        taken = {x.name for x in (*frames, *world.frames.values())}
        loops = Loops(parts, self.findings, taken)
        for part in loops.kept:
            self.joints += part.joints
            self.links += part.links
            self.springs |= part.springs
        return loops

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
        self.springs = {}
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
        if to_world:
            self.joints = away_from(WORLD, self.joints, self.findings)
        else:
            root = self._root(world.frames[chosen.name], frames)
            self.joints = away_from(root.name, self.joints, self.findings)
            T = between(world.origin, root)
            if self.floating:
                if bool(np.any(np.eye(4) != T)):
                    text = f"the pose of link {show(root.name)} in the world is left to q."
                    self.findings.note(root.element, text)
                return
            self._weld(chosen, root, T)
        self.links.insert(0, LinkDescription(WORLD, where=chosen.element.where))

    def _root(self, model: Frame, frames: Sequence[Frame]) -> Frame:
        """The link that no joint has as its child; the canonical link if there is not just one."""
        children = {joint.child for joint in self.joints}
        roots = [x for x in frames if x.kind == LINK and x.name not in children]
        return roots[0] if len(roots) == 1 else body_of(model)

    def _weld(self, chosen: Candidate, root: Frame, T: Array) -> None:
        """Fix the root in the world, with a note unless the model is static."""
        name = unique_name("world_joint", (joint.name for joint in self.joints))
        where = root.element.where
        self.joints.insert(
            0,
            JointDescription(
                name=name, type=FIXED, parent=WORLD, child=root.name, M_pc=T, where=where
            ),
        )
        if not chosen.is_static:
            self.findings.note(
                chosen.element,
                f"no joint connects the model to the world; link {show(root.name)} is fixed there. "
                "Load it with --floating (in Python, floating=True) if it moves freely.",
            )

    def _frames(self, world: Scope, frames: Sequence[Frame]) -> list[FrameDescription]:
        """The <frame> elements of the robot, and those of the world that are fixed to it."""
        links = {link.name for link in self.links}
        records: dict[str, FrameDescription] = {}
        for frame in (x for x in frames if x.kind == FRAME):
            body = body_of(frame)
            records[frame.name] = FrameDescription(frame.name, body.name, between(body, frame))
        for frame in (x for x in world.frames.values() if x.kind == FRAME):
            try:
                body = body_of(frame)
                T = between(body, frame)
            except ParseError as error:  # it may refer to a model that was not found
                self.findings.warn(frame.element, f"a frame of the world is left out: {error}")
                continue
            if body.name not in links:
                self.findings.count(frame.element, "<frame> of another model is not read")
            elif frame.name in links or frame.name in records:
                text = f"{frame.label} of the world has the name of another frame or link; skipped."
                self.findings.warn(frame.element, text)
            else:
                records[frame.name] = FrameDescription(frame.name, body.name, T)
        return list(records.values())

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
