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
from kinetree.files.description import joints as kinds
from kinetree.files.description import records
from kinetree.files.description.axes import check_axes
from kinetree.files.description.collisions import unused
from kinetree.files.description.mjcf.compile import WORLD, Compiled
from kinetree.files.description.mjcf.document import MeshFile
from kinetree.files.description.mjcf.forces import Forces
from kinetree.spatial.inertia import symmetric
from kinetree.spatial.se3 import inverse, pose, translation
from kinetree.spatial.so3 import from_quaternion

TYPES = (
    kinds.FREE,
    kinds.SPHERICAL,
    kinds.PRISMATIC,
    kinds.REVOLUTE,
)  # in the order of MuJoCo's mjtJoint
Step = tuple[int | None, Array]  # MuJoCo's number of a joint (None: fixed), and M_pc


def links_and_joints(
    compiled: Compiled, forces: Forces
) -> tuple[tuple[records.LinkDescription, ...], tuple[records.JointDescription, ...]]:
    """All bodies as links, static ones on fixed joints, parents before children."""
    model, bodies, names = compiled.model, compiled.body_names, compiled.joint_names
    taken, taken_joints = set(bodies), set(names)
    body_places = compiled.places(compiled.spec.bodies)
    joint_places = compiled.places(compiled.spec.joints)
    links, joints = [records.LinkDescription(WORLD)], list[records.JointDescription]()
    for b in range(1, model.nbody):
        parent, where = bodies[int(model.body_parentid[b])], body_places.get(b, "")
        steps = _steps(compiled, b)
        for k, (j, M_pc) in enumerate(steps):
            is_last = k == len(steps) - 1
            name = unused(f"{bodies[b]}/fixed", taken_joints) if j is None else names[j]
            child = bodies[b] if is_last else unused(f"{bodies[b]}/{name}", taken)
            parts = (_body(compiled, b),) if is_last and b not in compiled.unknown else ()
            links.append(records.LinkDescription(child, parts, where))
            joint: dict[str, Any] = {"name": name, "parent": parent, "child": child, "M_pc": M_pc}
            if j is None:
                joints.append(records.JointDescription(type=kinds.FIXED, where=where, **joint))
            else:
                type, place = TYPES[int(model.jnt_type[j])], joint_places.get(j, where)
                A = kinds.joint_screw(type, model.jnt_axis[j], 0, model.jnt_pos[j], name)
                joint |= forces.of_joint(j, place)
                joints.append(records.JointDescription(type=type, A=A, where=place, **joint))
            parent = child
        check_axes(joints[-len(steps) :])
    return tuple(links), tuple(joints)


def _steps(compiled: Compiled, b: int) -> list[Step]:
    """The joints of body b in their order, each with the frame of its child where it is at zero.

    A free body has its pose as q, so its home is the origin. A ball turns about its frame's
    origin, so that frame stands at the ball's point and the way back from it comes next.
    """
    model, steps = compiled.model, list[Step]()
    M = pose_of(model.body_pos[b], model.body_quat[b], f"body {compiled.body_names[b]!r}")
    first = int(model.body_jntadr[b])
    for j in range(first, first + int(model.body_jntnum[b])):
        type, point = TYPES[int(model.jnt_type[j])], np.array(model.jnt_pos[j])
        if type == kinds.SPHERICAL:
            steps.append((j, times(M, translation(point))))
            M = translation(-point)
        else:
            steps.append((j, np.eye(4) if type == kinds.FREE else M))
            M = np.eye(4)
    if not steps or not np.array_equal(M, np.eye(4)):
        steps.append((None, M))
    return steps


def _body(compiled: Compiled, b: int) -> records.Body:
    """Mass, centre and inertia as compiled; MuJoCo keeps moments and the pose of their axes."""
    model, name = compiled.model, f"body {compiled.body_names[b]!r}"
    m = float(array(model.body_mass[b], (), f"mass of {name}"))
    T = pose_of(model.body_ipos[b], model.body_iquat[b], f"inertial frame of {name}")
    moments = array(model.body_inertia[b], (3,), f"inertia of {name}")
    R = T[:3, :3]
    return records.Body(m, T[:3, 3], symmetric(times(R, np.diag(moments), R.T)))


def frames(
    compiled: Compiled, links: Iterable[records.LinkDescription]
) -> tuple[records.FrameDescription, ...]:
    """The named sites; one that has the name of a link becomes "site/name"."""
    model, bodies = compiled.model, compiled.body_names
    taken = {link.name for link in links}
    result: list[records.FrameDescription] = []
    for s in range(model.nsite):
        if name := model.site(s).name:
            frame = unused(f"site/{name}" if name in taken else name, taken)
            T = pose_of(model.site_pos[s], model.site_quat[s], f"site {name!r}")
            result.append(records.FrameDescription(frame, bodies[int(model.site_bodyid[s])], T))
    return tuple(result)


@dataclass(frozen=True)
class Mesh:
    """A mesh file of a geom: its path as seen from the main file, its pose and scale."""

    link: str
    path: str
    T: Array
    scale: tuple[float, float, float]
    touches: bool


def mesh_geoms(compiled: Compiled) -> dict[int, Mesh]:
    """Mesh files of the geoms by number; MuJoCo's shift of a mesh to its centre is undone."""
    model, found = compiled.model, dict[int, Mesh]()
    is_mesh = model.geom_type == int(compiled.mujoco.mjtGeom.mjGEOM_MESH)
    for g in np.flatnonzero(is_mesh & (model.geom_dataid >= 0)).tolist():
        k = int(model.geom_dataid[g])
        file = compiled.meshes.get(model.mesh(k).name)
        if file is None or file.path is None:
            continue
        centred = pose_of(model.mesh_pos[k], model.mesh_quat[k], f"mesh {file.name!r}")
        T = pose_of(model.geom_pos[g], model.geom_quat[g], f"geom {g}")
        touches = int(model.geom_contype[g]) or int(model.geom_conaffinity[g])
        x, y, z = (float(s) for s in model.mesh_scale[k])
        found[g] = Mesh(
            compiled.body_names[int(model.geom_bodyid[g])],
            _from_main(compiled, file),
            times(T, inverse(centred)),
            (x, y, z),
            bool(touches),
        )
    return found


def _from_main(compiled: Compiled, file: MeshFile) -> str:
    """Path of a mesh as seen from the folder of the main file."""
    folders, path = compiled.document.folders, file.path or ""
    folder, main = folders[file.node.document], folders[0]
    if folder == main:
        return path
    inside = folder.is_relative_to(main)
    return PurePath(folder.relative_to(main) if inside else folder.resolve(), path).as_posix()


def pose_of(p: ArrayLike, q: ArrayLike, name: str) -> Array:
    """Pose of a position and a quaternion (w, x, y, z), shape (4, 4)."""
    return pose(from_quaternion(q, f"orientation of {name}"), array(p, (3,), f"position of {name}"))
