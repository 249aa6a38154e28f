"""The Tree in the frames with the fewest operations, from which kernels are traced.

Every link frame is moved onto its joint's axis and turned so that constant rotations are sparse
(placement.py). Bodies are mass moments in these frames, and moments that act on the parent alone
are given to it (`regroup`). A LeanModel has all that does not depend on q; `lean_tree` adds the
position.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.dynamics.drives import drive_links, with_drives
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.placement import Placement, place_frames, seen_from
from kinetree.dynamics.tree import JointTransform, Pair, Rotation, Tree, TreeLink, Turn
from kinetree.files.description.joints import HELICAL, PRISMATIC, REVOLUTE, SCREW_TYPES
from kinetree.model import WORLD, Joint, Model, joint_pose
from kinetree.model.model import Frame
from kinetree.scalars import Scalar, cos, sin
from kinetree.spatial import cross, second_moment
from kinetree.spatial.inertia import Moments, mirrored

Angle = tuple[Any, Any]  # as its cosine and sine, of scalars of any kind


@dataclass(frozen=True, eq=False)
class LeanLink:
    """One link: its place on the parent, its joint with its axes A, and its mass moments."""

    parent: int
    joint: Joint
    place: Placement
    A: Array  # twist in the lean frame for unit rates, (6, k)
    body: Moments
    pitch: Scalar = 0  # advance along z for unit rotation about z


@dataclass(frozen=True, eq=False)
class LeanModel:
    """The links, the drives, and the model that they came from (gravity, springs, names)."""

    model: Model
    links: tuple[LeanLink, ...]
    drives: tuple[TreeLink, ...]


def lean_model(model: Model, *, regrouped: bool = True) -> LeanModel:
    """The model in lean frames.

    model: the robot; its masses may be traced scalars, its geometry must be numbers. regrouped:
    give to the parents the moments that act on them alone. The joint forces stay the same; energies
    and wrenches inside the robot do not. The model remembers the result.
    """
    key = "lean", regrouped
    known = model.memo.get(key)
    return known if known is not None else model.memo.setdefault(key, _lean(model, regrouped))


def _lean(model: Model, regrouped: bool) -> LeanModel:
    places = place_frames(model)
    bodies = _bodies(model, places, regrouped)
    links: list[LeanLink] = []
    for i, joint in enumerate(model.joints):
        pitch = _pitch(joint)
        axes = _axes(joint, pitch)
        links.append(LeanLink(model.parent[i], joint, places[i], axes, bodies[i], pitch))
    axes = [
        x.s if x.link == WORLD else times(places[x.link].X[:3, :3].T, x.s) for x in model.rotors
    ]
    return LeanModel(model, tuple(links), drive_links(model, axes))


def lean_tree(lean: LeanModel, q: Array, F_ext: Array | None = None) -> Tree:
    """The tree at q, (nq,); F_ext, (links, 6), acts on the links in the frames of the model."""
    links = []
    for i, link in enumerate(lean.links):
        load = None if F_ext is None else _load(F_ext[i], link.place.X)
        to = _to(link, q)
        links.append(TreeLink(link.parent, link.joint.dofs, link.A, to, link.body, load))
    springs = Springs(lean.model, q) if lean.model.springs else None
    return Tree(lean.model, with_drives(links, lean.drives), -lean.model.gravity[3:], springs)


def lean_frame(lean: LeanModel, name: str | None) -> Frame:
    """A frame of the model, the tool when None, in the lean frame of its link."""
    frame = lean.model.frame(name)
    if frame.link == WORLD:
        return frame
    return Frame(frame.link, seen_from(lean.links[frame.link].place.X, frame.T_if))


def _bodies(model: Model, places: list[Placement], regrouped: bool) -> list[Moments]:
    """Moments of every link in its lean frame, of numbers or traced scalars."""
    given = zip(model.m.tolist(), model.com, model.I_com, places, strict=True)
    bodies = [moments_in(m, com, I_com, place.X) for m, com, I_com, place in given]
    return regroup(model, places, bodies) if regrouped else bodies


def moments_in(m: Scalar, com: Array, I_com: Array, X: Array) -> Moments:
    """Moments of a body, numbers or symbols, in the lean frame X of its link."""
    R, p = X[:3, :3], X[:3, 3]
    if np.array_equal(X, np.eye(4)):
        c, Sigma = com, second_moment(I_com)
    else:
        c, Sigma = times(R.T, com - p), times(R.T, second_moment(I_com), R)
    Sigma = Sigma + np.outer(c, c) * m
    return Moments(m, c * m, mirrored(Sigma))


def _pitch(joint: Joint) -> Scalar:
    if joint.type != HELICAL or joint.screw is None:
        return 0
    return times(joint.screw[:3], joint.screw[3:])


def _axes(joint: Joint, pitch: Scalar) -> Array:
    """Twist of the link in its lean frame for unit rates, (6, k)."""
    if joint.type not in SCREW_TYPES:
        return joint.A
    return _screw(joint.type == PRISMATIC, pitch, joint.scale)


@functools.lru_cache(1, typed=True)  # one array for all links that have the same
def _screw(slides: bool, pitch: Scalar, scale: Scalar) -> Array:
    return np.array([[0, 0, 0, 0, 0, 1] if slides else [0, 0, 1, 0, 0, pitch]]).T * scale


def _load(F: Array, X: Array) -> Pair:
    """Force and moment in the lean frame X of a wrench F in the frame of the model."""
    R, p, moment, force = X[:3, :3], X[:3, 3], F[:3], F[3:]
    return R.T @ force, R.T @ (moment - cross(p, force))


def _to(link: LeanLink, q: Array) -> JointTransform:
    """The way to a link from its parent; q is the whole vector of positions."""
    joint, place = link.joint, link.place
    # products of objects are summed in order, also those of constants
    R = Rotation(place.R.astype(object))
    if joint.type not in SCREW_TYPES:
        T = joint_pose(joint, q[list(joint.coords)])
        return JointTransform((R, Rotation(T[:3, :3])), place.p + R.inward(T[:3, 3]))
    z, angle = place.R[:, 2], q[joint.coords[0]] * joint.scale
    c_0, s_0 = place.turn
    if joint.type == PRISMATIC:
        turns = () if (c_0, s_0) == (1, 0) else (Turn(c_0, s_0),)
        return JointTransform((R, *turns), place.p + z * (angle + joint.offset))
    # cos(q) and sin(q) are turned by the constant angles, so that joints that share q share them
    c, s = _added((cos(angle), sin(angle)), (c_0, s_0))
    if joint.offset != 0:
        c, s = _added((c, s), (cos(joint.offset), sin(joint.offset)))
    hinge = joint.type == REVOLUTE
    p = place.p if hinge else place.p + z * ((angle + joint.offset) * link.pitch)
    return JointTransform((R, Turn(c, s)), p)


def _added(a: Angle, b: Angle) -> Angle:
    """Cosine and sine of the sum of two angles given by theirs."""
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def regroup(model: Model, places: list[Placement], given: list[Moments]) -> list[Moments]:
    """Move mass moments to parents: the same joint forces, M, C and g from fewer numbers.

    Mass on the axis of a revolute joint does not move when the joint turns, so a link's m, h_z and
    Sigma_zz (a line of mass along its axis with the same moments) may sit on the parent instead. A
    sliding link turns with its parent, so all of its Sigma may. Moments that reach the fixed base
    are dropped, as they act on no joint. This saves 13 to 17 per cent of the operations.
    """
    bodies = list(given)
    for i in reversed(model.links):
        kind, place, parent = model.joints[i].type, places[i], model.parent[i]
        if kind == REVOLUTE:
            bodies[i], line = split_line(bodies[i])
            handed = line_in_parent(line, place.R, place.p)
        elif kind == PRISMATIC:
            handed = Moments(0, np.zeros(3, int), _turned(bodies[i].Sigma, place))
            bodies[i] = Moments(bodies[i].m, bodies[i].h, np.zeros((3, 3), int))
        else:
            continue
        if parent != WORLD:
            bodies[parent] = bodies[parent] + handed
    return bodies


def split_line(x: Moments) -> tuple[Moments, Moments]:
    """A link without m, h_z and Sigma_zz, and a line of mass on z that has just these."""
    h, S = x.h.copy(), x.Sigma.copy()
    h[2], S[2, 2] = 0, 0
    line = np.zeros((3, 3), S.dtype)
    line[2, 2] = x.Sigma[2, 2]
    return Moments(0, h, S), Moments(x.m, np.array([0, 0, x.h[2]]), line)


def line_in_parent(line: Moments, R: Array, p: Array) -> Moments:
    """A line of mass on z of the child, in the parent's frame, whatever the joint's angle."""
    z, h_z = R[:, 2], line.h[2]
    zz, pz, pp = z[:, None] * z, p[:, None] * z, p[:, None] * p
    mixed = pz * h_z
    Sigma = zz * line.Sigma[2, 2] + mixed + mixed.T + pp * line.m
    return Moments(line.m, p * line.m + z * h_z, Sigma)


def _turned(Sigma: Array, place: Placement) -> Array:
    R = times(place.R, _about_z(*place.turn))
    return mirrored(times(R, Sigma, R.T))


def _about_z(c: float, s: float) -> Array:
    """Rotation about z by an angle given as its cosine and sine, (3, 3)."""
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
