"""A motion for the viewer Rerun: the robot once, a pose of every link and time, and series."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.errors import InputError, need
from kinetree.model import WORLD, Model
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot
from kinetree.views.parts import link_meshes, parts_of
from kinetree.views.raster import corner_normals
from kinetree.views.scene import check_motion_of, numeric_model, scene
from kinetree.views.shapes import TriangleMesh

TIME = "time"  # name of the timeline
ROBOT = "robot"


@typed
def rerun(
    robot: Robot | Model, motion: Trajectory, path: str | os.PathLike[str] | None = None
) -> None:
    """Show a motion in Rerun, or write it as a file that Rerun opens.

    The robot is sent once, then the pose of every link at every time. q, dq, tau, the energies and
    the forces of contacts are series beside it. Needs `pip install 'kinetree[rerun]'`.

    Args:
        robot: the robot or its model, of numbers.
        motion: one motion of it.
        path: file that ends with .rrd; None: open the viewer.
    """
    need("rerun", "rerun", "a recording for Rerun")
    import rerun as rr

    model = numeric_model(robot)
    robot = Robot(model) if isinstance(robot, Model) else robot
    check_motion_of(robot, motion, "a recording for Rerun")
    stream = rr.RecordingStream("kinetree")
    if path is None:
        stream.spawn()
    else:
        stream.save(_file(path))
    stream.log(ROBOT, rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    names = _link_names(model)
    for link, k, vertices, triangles, colour in link_meshes(_parts(robot)):
        corners, normals = vertices[triangles], corner_normals(TriangleMesh(vertices, triangles))
        mesh = rr.Mesh3D(
            vertex_positions=corners.reshape(-1, 3),
            vertex_normals=normals.reshape(-1, 3),
            albedo_factor=colour,
        )
        stream.log([ROBOT, names[link], str(k)], mesh, static=True)
    times = [rr.TimeColumn(TIME, duration=np.asarray(motion.t, float))]
    poses = np.asarray(robot.link_poses(motion.q), float)
    for i in model.links:
        T = poses[:, i]
        columns = rr.Transform3D.columns(translation=T[:, :3, 3], mat3x3=T[:, :3, :3])
        place = rr.new_entity_path([ROBOT, names[i]])
        rr.send_columns(place, times, columns, recording=stream)
    for place, x in series(robot, motion):
        columns = rr.Scalars.columns(scalars=x)
        rr.send_columns(rr.new_entity_path(list(place)), times, columns, recording=stream)
    rr.send_blueprint(_blueprint(motion), recording=stream)
    stream.flush()
    if path is not None:
        stream.disconnect()


def series(robot: Robot, motion: Trajectory) -> Iterator[tuple[tuple[str, str], Array]]:
    """Series over time by place: q, dq, tau, energies in J, sizes of contact forces in N."""
    model = robot.model
    names = {"q": model.coordinate_names, "dq": model.dof_names, "tau": model.dof_names}
    for quantity, columns in names.items():
        values: Any = getattr(motion, quantity)
        for k, name in enumerate(columns if values is not None else ()):
            yield (quantity, name), np.asarray(values, float)[:, k]
    kinetic = np.asarray(robot.kinetic_energy(motion.q, motion.dq), float)
    potential = np.asarray(robot.potential_energy(motion.q), float)
    energies = {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}
    for name, x in energies.items():
        yield ("energy", name), x
    for name, force in motion.meta.get("contact_forces", {}).items():
        yield ("contact force", name), np.linalg.norm(np.asarray(force, float), axis=-1)


def _blueprint(motion: Trajectory) -> Any:
    """The robot beside its series."""
    import rerun.blueprint as rrb

    touches = "contact_forces" in motion.meta
    names = ["q", "tau" if motion.tau is not None else "dq", "energy"]
    series = [rrb.TimeSeriesView(origin=x, name=x) for x in names + ["contact force"] * touches]
    return rrb.Blueprint(rrb.Horizontal(rrb.Spatial3DView(origin="/"), rrb.Vertical(*series)))


def _parts(robot: Robot) -> Any:
    drawn = scene(robot)
    return parts_of(tuple(x for x in drawn.shapes if x.group in drawn.shown))


def _link_names(model: Model) -> dict[int, str]:
    return {WORLD: model.base_name, **dict(enumerate(model.link_names))}


def _file(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if not name.endswith(".rrd"):
        raise InputError(f"path is {name!r}; expected a name that ends with .rrd.")
    return name
