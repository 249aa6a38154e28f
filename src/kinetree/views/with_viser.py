"""A robot in the viewer Viser: sliders, torques, a target for the tool, the play of a motion."""

import threading
import time
from typing import Any

import numpy as np

from kinetree.constraints import project
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import typed
from kinetree.core.text import without_rounding
from kinetree.errors import InputError, need
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import WORLD, Model
from kinetree.model.bounds import bounds_of
from kinetree.model.inputs import coordinates
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot
from kinetree.spatial.so3 import quaternion, quaternion_rotation
from kinetree.views.camera import camera
from kinetree.views.loops import closed_rest
from kinetree.views.parts import Parts, link_meshes, parts_of
from kinetree.views.rest import handles
from kinetree.views.scene import check_motion_of, numeric_model, scene

LOOPBACK = "127.0.0.1"
FRAME_S = 1 / 30  # s between two pictures of a motion
TARGET = 0.2  # size of the target over that of the robot


class ViserView:
    """A robot in a server of Viser, at `server`; `stop` ends it.

    Sliders move the joints that have one degree of freedom, and below each stands the force that
    holds it against gravity. The target at the tool is dragged with the mouse, and the joints
    follow by inverse kinematics. q is the position that is shown, (nq,).
    """

    def __init__(self, robot: Robot, server: Any, q: Array, motion: Trajectory | None) -> None:
        self.robot, self.server, self.q, self.motion = robot, server, q, motion
        self._drawing = threading.RLock()
        self._setting = False  # sliders are moved by the program, not by the user
        self._dragged = False
        drawn = scene(robot)
        parts = parts_of(tuple(x for x in drawn.shapes if x.group in drawn.shown))
        self._links = self._add_links(parts)
        place = camera(robot.model, parts, q[None], drawn.shown)
        server.initial_camera.look_at = place.target
        server.initial_camera.position = place.target + place.distance * place.eye
        server.initial_camera.up = place.up
        self._grid = server.scene.add_grid("/floor", 4 * drawn.extent, 4 * drawn.extent)
        self._effort = bounds_of(robot.model).effort
        self._sliders = self._add_sliders(drawn.extent)
        self._target = self._add_target(TARGET * drawn.extent)
        if motion is not None:
            self._add_player(motion)
        self.show(q)

    def show(self, q: ArrayLike) -> None:
        """Show the robot at q, (nq,), rad or m."""
        model = self.robot.model
        with self._drawing, self.server.atomic():
            self.q = np.asarray(coordinates(model, np.asarray(q, float), "q"), float)
            poses = np.asarray(self.robot.link_poses(self.q), float)
            for i, frame in self._links.items():
                frame.position = poses[i, :3, 3]
                frame.wxyz = quaternion(poses[i, :3, :3])
            held = without_rounding(np.asarray(self.robot.gravity_forces(self.q), float))
            self._setting = True
            for coord, dof, slider, bar, words in self._sliders:
                slider.value = float(np.clip(self.q[coord], slider.min, slider.max))
                most = self._effort[dof]
                bar.value = float(100 * min(abs(held[dof]) / most, 1)) if np.isfinite(most) else 0.0
                unit = "N" if bounds_of(model).sliding[dof] else "N m"
                words.content = f"holds {held[dof]:.4g} {unit}"
            self._setting = False
            if self._target is not None and not self._dragged:
                T = np.asarray(self.robot.pose(self.q), float)
                self._target.position = T[:3, 3]
                self._target.wxyz = quaternion(T[:3, :3])

    def reach(self, T: ArrayLike) -> bool:
        """Move the tool to the pose T, (4, 4), or near it; False if it cannot be reached."""
        found = self.robot.inverse_kinematics(np.asarray(T, float), q0=self.q)
        self.show(found.q)
        return bool(found.reached)

    def play(self, motion: Trajectory, speed: float = 1.0) -> None:
        """Play a motion of the robot, speed times as fast, and return at its end."""
        check_motion_of(self.robot, motion, "a motion in Viser")
        begin = time.monotonic()
        while (t := float(motion.t[0]) + speed * (time.monotonic() - begin)) < motion.t[-1]:
            self.show(motion.q[int(np.searchsorted(motion.t, t))])
            time.sleep(FRAME_S)
        self.show(motion.q[-1])

    def stop(self) -> None:
        """End the server."""
        self.server.stop()

    def _add_links(self, parts: Parts) -> dict[int, Any]:
        """A frame for every moving link, with its meshes below it."""
        model, frames = self.robot.model, dict[int, Any]()
        places = {WORLD: "/base"} | {i: f"/link{i}" for i in model.links}
        for i in model.links:
            frames[i] = self.server.scene.add_frame(places[i], show_axes=False)
        for link, k, vertices, triangles, colour in link_meshes(parts):
            self.server.scene.add_mesh_simple(
                f"{places[link]}/{k}", vertices, triangles, color=colour, side="double"
            )
        return frames

    def _add_sliders(self, extent: float) -> list[tuple[int, int, Any, Any, Any]]:
        """Coordinate, degree of freedom, slider, bar of the force, and its number, by joint."""
        model, rows = self.robot.model, list[tuple[int, int, Any, Any, Any]]()
        gui = self.server.gui
        for x in handles(model, extent, self.q):
            joint = model.joints[x.joint]
            if joint.type not in SCREW_TYPES:
                continue
            step = (x.high - x.low) / 1000
            slider = gui.add_slider(f"{x.label}, {x.unit}", x.low, x.high, step, x.start)
            rows.append(
                (x.coord, joint.dofs[0], slider, gui.add_progress_bar(0.0), gui.add_markdown(""))
            )
            slider.on_update(lambda _, coord=x.coord, name=joint.name: self._slide(coord, name))
        return rows

    def _slide(self, coord: int, name: str) -> None:
        if self._setting:
            return
        value = next(row[2].value for row in self._sliders if row[0] == coord)
        q = np.array(self.q)
        q[coord] = value
        if self.robot.model.constraints is not None:
            try:
                q = project(self.robot, q, keep=[name])
            except InputError:  # the loop cannot follow: the robot stays where it is
                q = self.q
        self.show(q)

    def _add_target(self, size: float) -> Any:
        if self.robot.model.tool is None or self.robot.model.constraints is not None:
            return None
        target = self.server.scene.add_transform_controls("/target", scale=size)

        def follow(event: Any) -> None:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = quaternion_rotation(np.array(target.wxyz)), target.position
            self._dragged = event.phase != "end"  # until then it stays below the mouse
            self.reach(T)

        target.on_update(follow)
        return target

    def _add_player(self, motion: Trajectory) -> None:
        check_motion_of(self.robot, motion, "a motion in Viser")
        button = self.server.gui.add_button("play")
        button.on_click(lambda _: self.play(motion))


@typed
def viser(
    robot: Robot | Model,
    motion: Trajectory | None = None,
    *,
    q: ArrayLike | None = None,
    host: str = LOOPBACK,
    port: int = 8080,
) -> ViserView:
    """Show a robot in Viser, in the browser; the page is at `http://host:port`.

    Needs `pip install 'kinetree[viser]'`. Viser has no token: everyone who can reach the port can
    move the robot that is shown.

    Args:
        robot: the robot or its model, of numbers.
        motion: a motion of it, which a button plays.
        q: position to begin with, (nq,), rad or m; None: that of rest.
        host: address that the server listens on; other machines reach "0.0.0.0".
        port: of the server; the next free one if it is taken.
    """
    found = need("viser", "viser", "a view in Viser")
    model = numeric_model(robot)
    robot = Robot(model) if isinstance(robot, Model) else robot
    start = closed_rest(robot)[0] if q is None else np.asarray(coordinates(model, q, "q"), float)
    return ViserView(robot, found.ViserServer(host=host, port=port, verbose=False), start, motion)
