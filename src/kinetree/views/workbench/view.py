"""view: open the workbench with all its panels on a robot."""

import shutil
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from kinetree.robot import Robot
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene
from kinetree.views.workbench.bench import Bench, show
from kinetree.views.workbench.guard import address
from kinetree.views.workbench.joints import add_joints
from kinetree.views.workbench.motion import add_motion
from kinetree.views.workbench.push import add_push
from kinetree.views.workbench.readings import add_reading_tabs, add_readings, torques
from kinetree.views.workbench.recursion import add_recursion
from kinetree.views.workbench.robot_panel import add_robot_choice, add_robot_facts, set_theme
from kinetree.views.workbench.scene_nodes import add_robot
from kinetree.views.workbench.server import start_server, stop_server
from kinetree.views.workbench.state import at_rest, link_poses

if TYPE_CHECKING:
    from viser import MeshHandle

WIDTH = 360  # pixels of the controls
TABS = ("Joints", "Motion", "Push", "Recursion", "Robot")
SOLID = ("body", "joint", "visual")  # groups that would hide arrows inside them


class Workbench:
    """A running workbench; it ends with `stop`, or at the end of `with view(robot) as bench`."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @property
    def address(self) -> str:
        """The address to open in a browser; the token in it gives access."""
        return address(self.bench.guard)

    def stop(self) -> None:
        """End the server and its threads, and remove uploaded files."""
        close(self.bench)
        stop_server(self.bench.server)
        shutil.rmtree(self.bench.folder, ignore_errors=True)

    def __enter__(self) -> "Workbench":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def view(
    robot: Robot | None = None,
    *,
    drawn: Scene | None = None,
    notes: list[str] | None = None,
    meshes: Path | None = None,
    port: int = 0,
    browser: bool = True,
    degrees: bool = False,
) -> Workbench:
    """Open the workbench in the browser; it can be reached from this machine only.

    Args:
        robot: the robot; None means the Panda.
        drawn: its shapes, if they are known already, as from `read_robot`.
        notes: remarks to show with it.
        meshes: the only folder that meshes are read from; None means that of the robot's file.
        port: port of 127.0.0.1; 0 means any free port.
        browser: whether to open the page.
        degrees: show angles in degrees.
    """
    if robot is None:
        from kinetree.robots import panda

        robot = panda()
    drawn = scene(robot, folder=meshes) if drawn is None else drawn
    server, guard = start_server(port)
    folder = Path(tempfile.mkdtemp(prefix="kinetree-"))
    bench = Bench(
        server, guard, at_rest(robot, degrees=degrees), drawn, folder, meshes, notes or []
    )
    workbench = Workbench(bench)
    try:
        look_at(bench)
        build(bench)
    except BaseException:
        workbench.stop()
        raise
    if browser:
        webbrowser.open(workbench.address)
    return workbench


def build(bench: Bench) -> None:
    """Add the parts of the page that stay when another robot is opened, then the panels."""
    gui = bench.server.gui
    set_theme(bench, dark=False)
    gui.main_panel.dock_right()
    gui.main_panel.set_width(WIDTH)
    # without a graphics card, drawing is four times as fast without shadows
    bench.server.scene.configure_default_lights(cast_shadow=False)
    add_robot_choice(bench, lambda *new: open_robot(bench, *new))
    tabs = gui.add_tab_group()
    bench.tabs |= {name: tabs.add_tab(name) for name in TABS}
    add_reading_tabs(bench)
    add_panels(bench)


def add_panels(bench: Bench) -> None:
    """Add the scene and the content of all tabs for the robot of the bench."""
    nodes = add_robot(bench)
    add_readings(bench)
    with bench.tabs["Joints"]:
        add_joints(bench)
    with bench.tabs["Motion"]:
        add_motion(bench)
    with bench.tabs["Push"]:
        add_push(bench)
    with bench.tabs["Recursion"]:
        solid = [x for group in SOLID for x in nodes.get(group, [])]
        add_recursion(bench, cast("list[MeshHandle]", solid))  # or boxes and spheres
    with bench.tabs["Robot"]:
        add_robot_facts(bench, nodes)
    show(bench)


def open_robot(bench: Bench, robot: Robot, drawn: Scene | None, notes: list[str]) -> None:
    """Replace the robot of the bench; the same robot keeps its state.

    All steps that can fail come first, so a robot that cannot be shown leaves the old one in place.
    """
    with bench.opening:
        same = robot is bench.state.robot
        state = bench.state if same else at_rest(robot, degrees=bench.state.degrees)
        drawn = scene(robot) if drawn is None else drawn
        torques(state)
        close(bench)
        with bench.showing, bench.changing:
            bench.state = bench.state if same else state
            bench.trajectory = bench.trajectory if same else None
            bench.scene, bench.notes = drawn, notes
            clear(bench)
            add_panels(bench)
            if not same:
                look_at(bench)


def clear(bench: Bench) -> None:
    """Remove everything that belongs to the robot from the page and the scene."""
    for element in [x for tab in bench.tabs.values() for x in tab._children.values()]:
        element.remove()
    bench.refreshers.clear()
    bench.watchers.clear()
    bench.server.scene.reset()
    bench.opened += 1


def close(bench: Bench) -> None:
    """End the threads of the robot."""
    for closer in bench.closers:
        closer()
    bench.closers.clear()


def look_at(bench: Bench) -> None:
    """Point the cameras, of open pages and of pages to come, at the whole robot from the front."""
    tool = np.asarray(bench.state.robot.pose(bench.state.q), float)
    points = np.array([*link_poses(bench.state)[:, :3, 3], tool[:3, 3], np.zeros(3)])
    middle = (points.min(0) + points.max(0)) / 2
    distance = max(bench.scene.extent, float(np.linalg.norm(np.ptp(points, axis=0))))
    clients = bench.server.get_clients().values()
    for camera in (bench.server.initial_camera, *(client.camera for client in clients)):
        camera.position = tuple((middle + distance * np.array([0.92, -0.92, 0.48])).tolist())
        camera.look_at = tuple(middle.tolist())
