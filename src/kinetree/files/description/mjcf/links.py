"""Links, joints and frames of a compiled MJCF model.

MuJoCo lets a body have several joints, each about its own point of the body. Here a body with k
joints hangs on a chain of k - 1 massless links "body/joint"; the point of a hinge stands in its
screw axis, the point of a ball is the place of a frame.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, times
from kinetree.files.description.actuators import UNLIMITED
from kinetree.files.description.axes import check_axes
from kinetree.files.description.joints import (
    FIXED,
    FREE,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    joint_screw,
)
from kinetree.files.description.mjcf.compile import WORLD, Compiled, unused
from kinetree.files.description.mjcf.forces import JointForces, joint_forces, joint_ranges
from kinetree.files.description.mjcf.meshes import MeshedModel
from kinetree.files.description.mjcf.prepare import MeshFile
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    LinkDescription,
    Mesh,
)
from kinetree.spatial.inertia import symmetric
from kinetree.spatial.se3 import inverse, pose, translation
from kinetree.spatial.so3 import from_quaternion

TYPES = (FREE, SPHERICAL, PRISMATIC, REVOLUTE)  # in the order of MuJoCo's mjtJoint


@dataclass(frozen=True)
class Step:
    """One joint between a body and its parent: MuJoCo's number (None: fixed), and M_pc."""

    joint: int | None
    M_pc: Array


def links_and_joints(
    meshed: MeshedModel,
) -> tuple[tuple[LinkDescription, ...], tuple[JointDescription, ...]]:
    """All bodies as links, static ones on fixed joints, parents before children."""
    compiled = meshed.compiled
    model, bodies, names = compiled.model, compiled.body_names, compiled.joint_names
    taken, taken_joints = set(bodies), set(names)
    body_places = _places(compiled, compiled.spec.bodies)
    joint_places = _places(compiled, compiled.spec.joints)
    forces, ranges = joint_forces(compiled, joint_places), joint_ranges(compiled)
    links, joints = [LinkDescription(WORLD)], []
    for b in range(1, model.nbody):
        parent, where = bodies[int(model.body_parentid[b])], body_places.get(b, "")
        steps = body_steps(compiled, b)
        for k, step in enumerate(steps):
            j, is_last = step.joint, k == len(steps) - 1
            name = unused(f"{bodies[b]}/fixed", taken_joints) if j is None else names[j]
            child = bodies[b] if is_last else unused(f"{bodies[b]}/{name}", taken)
            is_body = is_last and b not in meshed.unknown
            parts = (link_body(compiled, b),) if is_body else ()
            links.append(LinkDescription(child, parts, where))
            drive = JointForces() if j is None else forces[j]
            joints.append(
                JointDescription(
                    name=name,
                    type=FIXED if j is None else TYPES[int(model.jnt_type[j])],
                    parent=parent,
                    child=child,
                    M_pc=step.M_pc,
                    A=None if j is None else joint_axis(compiled, j, name),
                    where=where if j is None else joint_places.get(j, where),
                    actuation=UNLIMITED if j is None else ranges.get(j, UNLIMITED),
                    **vars(drive),
                )
            )
            parent = child
        check_axes(joints[-len(steps) :])
    return tuple(links), tuple(joints)


def body_steps(compiled: Compiled, b: int) -> list[Step]:
    """The joints of body b in their order, each with the frame of its child where it is at zero.

    A free body has its pose as q, so its home is the origin. A ball turns about its frame's
    origin, so that frame stands at the ball's point and the way back from it comes next.
    """
    model = compiled.model
    steps: list[Step] = []
    M = _pose(model.body_pos[b], model.body_quat[b], f"body {compiled.body_names[b]!r}")
    first = int(model.body_jntadr[b])
    for j in range(first, first + int(model.body_jntnum[b])):
        type = TYPES[int(model.jnt_type[j])]
        if type == SPHERICAL:
            point = np.array(model.jnt_pos[j])
            steps.append(Step(j, times(M, translation(point))))
            M = translation(-point)
        else:
            steps.append(Step(j, np.eye(4) if type == FREE else M))
            M = np.eye(4)
    if not steps or not np.array_equal(M, np.eye(4)):
        steps.append(Step(None, M))
    return steps


def joint_axis(compiled: Compiled, j: int, name: str) -> Array | None:
    """Screw axis of a hinge or slide in the frame of its body."""
    model = compiled.model
    type = TYPES[int(model.jnt_type[j])]
    return joint_screw(type, model.jnt_axis[j], 0, model.jnt_pos[j], name)


def link_body(compiled: Compiled, b: int) -> Body:
    """Mass, centre and inertia as compiled; MuJoCo keeps moments and the pose of their axes."""
    model, name = compiled.model, compiled.body_names[b]
    m = float(array(model.body_mass[b], (), f"mass of body {name!r}"))
    T = _pose(model.body_ipos[b], model.body_iquat[b], f"inertial frame of body {name!r}")
    moments = array(model.body_inertia[b], (3,), f"inertia of body {name!r}")
    R = T[:3, :3]
    return Body(m, T[:3, 3], symmetric(times(R, np.diag(moments), R.T)))


def frames(compiled: Compiled, links: Iterable[LinkDescription]) -> tuple[FrameDescription, ...]:
    """The named sites; one that has the name of a link becomes "site/name"."""
    model, bodies = compiled.model, compiled.body_names
    taken = {link.name for link in links}
    result: list[FrameDescription] = []
    for s in range(model.nsite):
        name = model.site(s).name
        if name:
            frame_name = unused(f"site/{name}" if name in taken else name, taken)
            T = _pose(model.site_pos[s], model.site_quat[s], f"site {name!r}")
            result.append(FrameDescription(frame_name, bodies[int(model.site_bodyid[s])], T))
    return tuple(result)


def mesh_records(meshed: MeshedModel) -> tuple[Mesh, ...]:
    """Mesh files of the geoms, for viewers."""
    return tuple(mesh for _, mesh in mesh_geoms(meshed))


def mesh_geoms(meshed: MeshedModel) -> tuple[tuple[int, Mesh], ...]:
    """Number and mesh file of the geoms; MuJoCo's shift of a mesh to its centre is undone."""
    compiled = meshed.compiled
    model, bodies = compiled.model, compiled.body_names
    result: list[tuple[int, Mesh]] = []
    is_mesh = int(compiled.mujoco.mjtGeom.mjGEOM_MESH)
    for g in range(model.ngeom):
        k = int(model.geom_dataid[g])
        if int(model.geom_type[g]) != is_mesh or k < 0:
            continue
        file = meshed.meshes.get(model.mesh(k).name)
        if file is None or file.path is None:
            continue
        centred = _pose(model.mesh_pos[k], model.mesh_quat[k], f"mesh {file.name!r}")
        T = times(_pose(model.geom_pos[g], model.geom_quat[g], f"geom {g}"), inverse(centred))
        touches = int(model.geom_contype[g]) or int(model.geom_conaffinity[g])
        x, y, z = (float(s) for s in model.mesh_scale[k])
        kind = "collision" if touches else "visual"
        path = _from_main(meshed, file)
        link = bodies[int(model.geom_bodyid[g])]
        result.append((g, Mesh(link, path, T, (x, y, z), kind)))
    return tuple(result)


def _from_main(meshed: MeshedModel, file: MeshFile) -> str:
    """Path of a mesh as seen from the folder of the main file."""
    path, folder, main = file.path or "", meshed.folders[file.node.document], meshed.folders[0]
    if folder == main:
        return path
    inside = folder.is_relative_to(main)
    return PurePath(folder.relative_to(main) if inside else folder.resolve(), path).as_posix()


def _places(compiled: Compiled, elements: Iterable[Any]) -> dict[int, str]:
    """file:line of elements of the spec, by their number."""
    nodes = {int(element.id): compiled.node_of(element) for element in elements}
    return {k: node.where for k, node in nodes.items() if node is not None}


def _pose(p: ArrayLike, q: ArrayLike, name: str) -> Array:
    return pose(from_quaternion(q, f"orientation of {name}"), array(p, (3,), f"position of {name}"))
