"""Contacts of a robot's file: all its collision shapes with its ground, or a refusal.

Meshes, ellipsoids and pairs of links are not modelled. A file is refused where one of them touches
at the start: where it puts its joints, a free base lowered until the first contact touches.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.contacts.ground import gap
from kinetree.dynamics.joints.configuration import start_position
from kinetree.dynamics.kinematics import pose
from kinetree.dynamics.tree import placed_tree
from kinetree.errors import InputError, ModelError
from kinetree.files.description.collisions import (
    DEFAULT_FRICTION,
    Collisions,
    CollisionShape,
    contacts_of,
)
from kinetree.files.description.contacts import MAX_CONTACTS, Contact, Contacts, Plane
from kinetree.files.description.meshes import MeshFolder
from kinetree.files.description.records import Note
from kinetree.files.description.source import RobotFile
from kinetree.files.description.sources import own_package
from kinetree.model import WORLD, Model

TOUCHING = 1e-3  # m: depth at which an unmodelled shape counts as touching; files round to this
LOWEST_CORNERS = 200  # of a mesh that are compared with ground that is not a plane
MAX_NAMES = 6  # in a message
CHOOSE = (
    "Choose the contacts yourself: load without contacts='file', then robot.with_contacts([names "
    "of links, of collision shapes, or points], ground, friction=...)."
)


def with_file_contacts(model: Model, file: RobotFile) -> Model:
    """The robot with all contacts of its file, and notes on what they leave out.

    Args:
        model: the robot, with the collision shapes of its file.
        file: its file, in messages and for its meshes.
    """
    collisions, frames, source = model.collisions, model.frames, file.path
    moving = [x for x in collisions.shapes if x.link in frames and frames[x.link].link != WORLD]
    made = {x.name: contacts_of(x) for x in moving}
    points = [point for contacts in made.values() for point in contacts]
    left_out = [x for x in moving if not made[x.name]]
    if fault := next(_faults(collisions, points, left_out), ""):
        raise ModelError(f"{source}: {fault}. {CHOOSE}")
    try:
        contacts = Contacts(points, collisions.ground or Plane(), DEFAULT_FRICTION)
    except InputError as problem:
        raise ModelError(f"{source}: {problem}") from None
    robot = model.replace(contacts=contacts)
    notes = [*_notes(robot, left_out), *_unmodelled(robot, left_out, file)]
    kept, warnings = (
        [x for x in remarks if x.code != "contacts"]  # which says that there are none
        for remarks in (model.notes, model.warnings)
    )
    return robot.replace(notes=(*kept, *notes), warnings=tuple(warnings))


def _faults(
    collisions: Collisions, points: list[Contact], left_out: list[CollisionShape]
) -> Iterator[str]:
    """Why the contacts of a file cannot be used, or would move the robot differently."""
    if collisions.touching:
        pairs = "; ".join(list(dict.fromkeys(collisions.touching))[:MAX_NAMES])
        yield f"these touch where the file starts, and such contacts are not modelled: {pairs}"
    if collisions.changed:
        expected = "one plane with upright boxes, or one height field, and one friction a shape"
        yield f"{'; '.join(collisions.changed[:MAX_NAMES])}; expected {expected}"
    if collisions.ground is None and collisions.obstacles:
        text = f"the ground of the file cannot be used: {'; '.join(collisions.obstacles)}; expected"
        yield f"{text} a plane, upright boxes or a height field with its elevation in the file"
    if not points:
        others = "; ".join(collisions.left_out) or listing([x.name for x in left_out], MAX_NAMES)
        text = "no collision shape of a link that moves has contacts; expected spheres, boxes"
        yield f"{text}, capsules or cylinders ({others or 'the file has no shapes'})"
    if len(points) > MAX_CONTACTS:
        counts = Counter(x.link for x in points).most_common(MAX_NAMES)
        most = ", ".join(f"{name!r} {count}" for name, count in counts)
        yield f"its shapes make {len(points)} contacts ({most}); expected {MAX_CONTACTS} at most"


def _notes(robot: Model, left_out: list[CollisionShape]) -> Iterator[Note]:
    """Notes on the defaults that were taken, and on parts of the file without contacts."""
    collisions = robot.collisions
    yield Note("contacts are rigid, between shapes and the ground; links do not touch each other")
    if collisions.ground is None:
        yield Note("the file has no ground: contacts are with the plane z = 0")
    if any(x.friction is None for x in collisions.shapes):
        yield Note(f"shapes without friction in the file have {DEFAULT_FRICTION:g}")
    for kind in dict.fromkeys(x.kind for x in left_out):
        names = listing([x.name for x in left_out if x.kind == kind], MAX_NAMES)
        yield Note(f"collision shapes of kind {kind} have no contacts: {names}")
    left = (*collisions.obstacles, *collisions.left_out)
    yield from (Note(f"contacts leave out {x}") for x in left)


def _unmodelled(robot: Model, left_out: list[CollisionShape], file: RobotFile) -> Iterator[Note]:
    """Notes on meshes that cannot be read; raise ModelError if an unmodelled shape touches."""
    q = start_position(robot)
    tree = placed_tree(robot, q)
    source, is_text = Path(file.path), file.text is not None
    places = [Path(folder) for folder in file.folders]
    places += [] if is_text else [own_package(Path(os.path.abspath(source)).parent)]
    meshes = [MeshFolder(x if is_text else source.parent, x) for x in places]
    for shape in left_out:
        T = np.asarray(pose(tree, robot.frame(shape.link)), float) @ np.asarray(shape.T, float)
        try:
            lowest = _lowest_gap(robot, shape, T, meshes)
        except InputError as problem:
            yield Note(
                f"collision shape {shape.name!r} of link {shape.link!r} {problem}: whether it "
                "touches the ground at the start is not known"
            )
            continue
        if lowest < -TOUCHING:
            raise ModelError(
                f"{source}: collision shape {shape.name!r} of link {shape.link!r} is a "
                f"{shape.kind}, which has no contacts, and it is {-lowest:.3g} m inside the ground "
                f"at the start, so that the robot would move differently. {CHOOSE}"
            )


def _lowest_gap(
    robot: Model, shape: CollisionShape, T: Array, meshes: Sequence[MeshFolder]
) -> float:
    """Least distance of a mesh or an ellipsoid at pose T from the ground, m."""
    ground = robot.contacts.ground if robot.contacts is not None else Plane()
    up = np.asarray(gap(ground, T[:3, 3])[1], float)
    if shape.kind == "ellipsoid":
        across = np.array(shape.size) * (T[:3, :3].T @ up)
        local = -np.array(shape.size) * across / np.sqrt(across @ across)
        return float(gap(ground, T[:3, :3] @ local + T[:3, 3])[0])
    if shape.kind != "mesh":
        raise InputError(f"is a {shape.kind}")
    corners = _corners(shape, meshes) * np.array(shape.size) @ T[:3, :3].T + T[:3, 3]
    order = np.argsort(corners @ up, kind="stable")
    return min(float(gap(ground, corners[k])[0]) for k in order[:LOWEST_CORNERS])


def _corners(shape: CollisionShape, meshes: Sequence[MeshFolder]) -> Array:
    """Corners of a mesh in the frame of its file, (k, 3); InputError if no folder has it."""
    for folder in meshes:
        try:
            return folder.load(shape.path).vertices
        except InputError:
            continue
    raise InputError(f"is in the mesh {shape.path!r}, which cannot be read")
