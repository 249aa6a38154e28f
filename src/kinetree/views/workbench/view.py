"""view: open the workbench, with all its panels, on a robot."""

import shutil
import tempfile
import webbrowser
from pathlib import Path

import numpy as np

from kinetree.robot import Robot
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene
from kinetree.views.workbench.bench import Bench, show
from kinetree.views.workbench.guard import address
from kinetree.views.workbench.joint_panel import add_joints
from kinetree.views.workbench.motion_panel import add_motion
from kinetree.views.workbench.reading_panel import add_reading_tabs, add_readings
from kinetree.views.workbench.recursion_panel import add_recursion
from kinetree.views.workbench.robot_panel import add_robot_choice, add_robot_facts, set_theme
from kinetree.views.workbench.scene_nodes import add_robot
from kinetree.views.workbench.server import start_server, stop_server
from kinetree.views.workbench.state import at_rest, link_poses
from kinetree.views.workbench.torques import torques
from kinetree.views.workbench.wrench_panel import add_wrench

WIDTH = 360  # pixels of the controls
TABS = ("Joints", "Motion", "Push", "Recursion", "Robot")
SOLID = ("body", "joint", "visual")  # what arrows would be hidden in


class Workbench:
    """A running workbench; `with view(robot) as bench` ends it, and so does `stop`."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @property
    def address(self) -> str:
        """What to open in a browser; the token in it is the key."""
        return address(self.bench.guard)

    def stop(self) -> None:
        """End the server, its threads, and what was uploaded."""
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
    """The workbench in the browser, on this machine alone.

    Args:
        robot: Panda when None.
        drawn: its shapes, where they are known already, as from `read_robot`.
        notes: remarks to show with it.
        meshes: the only folder that meshes are read from; that of the robot's file when None.
        port: of 127.0.0.1; 0 takes a free one.
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
    """What stays, whatever the robot is: the look of the page and the choice of a robot."""
    gui = bench.server.gui
    set_theme(bench, dark=False)
    gui.main_panel.dock_right()
    gui.main_panel.set_width(WIDTH)
    # software that draws without a graphics card is four times as fast without shadows
    bench.server.scene.configure_default_lights(cast_shadow=False)
    add_robot_choice(bench, lambda *new: open_robot(bench, *new))
    tabs = gui.add_tab_group()
    bench.tabs |= {name: tabs.add_tab(name) for name in TABS}
    add_reading_tabs(bench)
    add_panels(bench)


def add_panels(bench: Bench) -> None:
    """The content of all tabs, and the scene, for the robot of the bench."""
    nodes = add_robot(bench)
    add_readings(bench)
    with bench.tabs["Joints"]:
        add_joints(bench)
    with bench.tabs["Motion"]:
        add_motion(bench)
    with bench.tabs["Push"]:
        add_wrench(bench)
    with bench.tabs["Recursion"]:
        add_recursion(bench, [x for group in SOLID for x in nodes.get(group, [])])
    with bench.tabs["Robot"]:
        add_robot_facts(bench, nodes)
    show(bench)


def open_robot(bench: Bench, robot: Robot, drawn: Scene | None, notes: list[str]) -> None:
    """Put another robot on the bench; the same one again keeps its state.

    What can fail is done first, so that a robot that cannot be shown leaves the old one in place.
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
    """Take what belongs to a robot off the page and out of the scene."""
    for element in [x for tab in bench.tabs.values() for x in tab._children.values()]:
        element.remove()
    bench.refreshers.clear()
    bench.watchers.clear()
    bench.server.scene.reset()
    bench.opened += 1


def close(bench: Bench) -> None:
    """End what runs by itself."""
    for closer in bench.closers:
        closer()
    bench.closers.clear()


def look_at(bench: Bench) -> None:
    """Look at the whole robot from the front: now, and whenever a page is opened."""
    tool = np.asarray(bench.state.robot.pose(bench.state.q), float)
    points = np.array([*link_poses(bench.state)[:, :3, 3], tool[:3, 3], np.zeros(3)])
    middle = (points.min(0) + points.max(0)) / 2
    distance = max(bench.scene.extent, float(np.linalg.norm(np.ptp(points, axis=0))))
    clients = bench.server.get_clients().values()
    for camera in (bench.server.initial_camera, *(client.camera for client in clients)):
        camera.position = tuple((middle + distance * np.array([0.92, -0.92, 0.48])).tolist())
        camera.look_at = tuple(middle.tolist())
