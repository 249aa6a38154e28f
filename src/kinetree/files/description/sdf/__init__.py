"""SDF (SDFormat 1.2 and later) -> records, for robots that are trees, or have closed loops.

`parts` reads values strictly; `files` opens the file and the models that it includes, `versions`
brings them to SDF 1.7; `models` makes scopes of `frames` from them; `elements` makes the records,
and `structure` one tree of them, with constraints for joints that close loops. The base of the
robot is the world: a link that no joint connects to the world is fixed where the file places it, or
floats.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree.errors import ParseError
from kinetree.files.description.collisions import Collisions, with_own_names
from kinetree.files.description.findings import Findings, fault
from kinetree.files.description.joints import FIXED, FREE
from kinetree.files.description.records import (
    FrameDescription,
    JointDescription,
    LinkDescription,
    Mesh,
    RobotDescription,
    Spring,
)
from kinetree.files.description.sdf.elements import (
    read_collisions,
    read_joint,
    read_link,
    read_meshes,
)
from kinetree.files.description.sdf.files import Files
from kinetree.files.description.sdf.frames import (
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
from kinetree.files.description.sdf.models import Candidate, Reader, choose
from kinetree.files.description.sdf.parts import SEPARATOR, WORLD, numbers_in, text_of
from kinetree.files.description.sdf.structure import Loops, away_from, trees
from kinetree.files.description.sdf.versions import Document, check_newest, document
from kinetree.files.description.source import decode
from kinetree.files.description.tree import check_file_tree, listed
from kinetree.files.description.urdf.elements import follow
from kinetree.files.description.urdf.parts import Part
from kinetree.files.description.xml import parse_xml, show

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
        floating: hang links that no joint connects to the world on free joints, instead of fixing
            them: "base", or "LINK/base" if there are several trees.
        model: name of the model, for a world with several.

    Raises:
        ParseError: the file is not SDF of version 1.2 or later, or not a tree; the message has
            file:line:column and the remedy.
    """
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
    findings = Findings()
    root = parse_xml(decode(text, name), name)
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
    outer = files.open(path) if text is None else document(parse_xml(text, name), None)
    reader = Reader(files, findings)
    models = reader.candidates(outer)
    known = model if any(x.name == model for x in models) else None
    chosen = choose(models, reader.absent, known, outer.root)
    robot = reader.world(outer, models, chosen).frames[chosen.name].inner
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
        chosen = choose(models, reader.absent, name, found.root)
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
        check_file_tree(self.links, self.joints, chosen.name)
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
            collisions=Collisions(
                with_own_names(
                    x for link in frames if link.kind == LINK for x in read_collisions(link)
                )
            ),
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
                is_chosen = [x.partition(SEPARATOR)[0] == chosen.name for x in ends]
                if not any(is_chosen):
                    part.count("<joint> in <world> of other models is not read")
                    continue
                if not is_chosen[1] or not (is_chosen[0] or ends[0] == WORLD):
                    other = ends[1] if not is_chosen[1] else ends[0]
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
        """Add the world as the base, and joints to it from links that no joint connects to it.

        These joints are fixed, or free if the robot floats.
        """
        to_world = [joint for joint in self.joints if joint.parent == WORLD]
        roots = self._loose_roots(world.frames[chosen.name], frames)
        if self.floating and not roots:
            raise fault(
                chosen.element,
                f"model {show(chosen.name)}",
                f"joint {show(to_world[0].name)} connects it to the world, so it cannot float. "
                "Delete the joint, or leave out --floating (in Python, floating).",
            )
        self.joints = away_from([WORLD, *(x.name for x in roots)], self.joints, self.findings)
        moved = [x for x in roots if bool(np.any(np.eye(4) != between(world.origin, x)))]
        if self.floating and moved:
            text = f"the pose of {_links(moved)} in the world is left to q."
            self.findings.note(moved[0].element, text)
        self.joints[:0] = [self._to_world(root, world, len(roots)) for root in roots]
        self.links.insert(0, LinkDescription(WORLD, where=chosen.element.where))
        if self.floating or chosen.is_static or not roots:
            return
        tell = self.findings.warn if to_world or len(roots) > 1 else self.findings.note
        tell(
            chosen.element,
            f"no joint connects {_links(roots)} to the world: fixed there. Load the model with "
            "--floating (in Python, floating=True) to let that move freely.",
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

    def _to_world(self, root: Frame, world: Scope, count: int) -> JointDescription:
        """A joint of the world to a root: fixed where the file has it, or free."""
        taken = [joint.name for joint in self.joints]
        start = "base" if self.floating else "world_joint"
        if self.floating and start in taken:
            start = "kinetree_base"  # as for robots of other formats
        T = np.eye(4, dtype=int) if self.floating else between(world.origin, root)
        return JointDescription(
            name=unique_name(start if count == 1 else f"{root.name}/{start}", taken),
            type=FREE if self.floating else FIXED,
            parent=WORLD,
            child=root.name,
            M_pc=T,
            where=root.element.where,
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
        of_world = worlds[0].all("gravity")
        for physics in worlds[0].all("physics"):
            for misplaced in physics.all("gravity"):
                if any(x is misplaced for x in of_world):
                    part.note("of <physics>, the <gravity> is read, as SDF before 1.6 has it.")
                else:
                    self.findings.warn(
                        misplaced,
                        "<gravity> inside <physics> is not read since SDF 1.6; move it into "
                        "<world>.",
                    )
        if not of_world:
            part.note("no <gravity>: 0 0 -9.8 by the rules of SDF.")
        return numbers_in(part, "gravity", 3, DEFAULT_GRAVITY)


def _links(roots: Sequence[Frame]) -> str:
    """The words for some links."""
    return f"link{'s' if len(roots) > 1 else ''} {listed([show(x.name) for x in roots])}"
