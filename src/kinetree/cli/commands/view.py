"""`kinetree view`: the robot in the browser, or in Viser or Rerun."""

import sys
import threading
import webbrowser
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli import robots, writer
from kinetree.cli.app import command
from kinetree.core.system import on_termination

if TYPE_CHECKING:
    from kinetree.robot import Robot
    from kinetree.views.workbench.view import Workbench

SIGNALLED = 128  # exit code of a program that a signal ended, less the number of the signal


@command("Look at a robot", also="show plot display gui visualize visualise browse workbench")
def run(
    robot: opt.RobotName = "panda",
    /,
    *,
    port: opt.Whole = 0,
    browser: Annotated[opt.Flag, Parameter(negative="--no-browser")] = True,
    viewer: Literal["workbench", "viser", "rerun"] = "workbench",
    json: opt.Json = False,
    degrees: opt.Degrees = False,
    reading: opt.Reading = opt.READING,
) -> None:
    """Open the workbench: the robot in the browser, with its joint forces as it moves.

    Sliders, joint forces by parts, the mass matrix, pushes by hand, simulations with plots, the
    recursion step by step, equations (which need `pip install 'kinetree[symbolic]'`). Only this
    machine can reach it, with the address that is printed; its token is new each time. Ctrl-C ends
    it, with exit code 0. Meshes are read from the folder of the file, or from the first --folder,
    and from nowhere else.

    For example:

    ```
    kinetree view
    kinetree view ur5e --degrees
    kinetree view my_robot.urdf --folder ~/ros/src --no-browser
    kinetree view panda --viewer viser
    ```

    JSON has address, port, robot.

    Args:
        port: Port of 127.0.0.1; 0 takes a free one.
        browser: Open the page; --no-browser only prints its address.
        viewer: Program that shows the robot; viser and rerun are extras.
    """
    loaded = robots.find_robot(robot, reading)
    if viewer != "workbench":
        show_elsewhere(loaded, viewer, port)
        return
    builtin = not Path(robot).is_file() and reading == opt.READING
    with opened(
        loaded, robot if builtin else None, reading.mesh_folder, port, degrees
    ) as workbench:
        serve(workbench, browser, json)
    if not json:
        print("The workbench is closed.")


def show_elsewhere(robot: "Robot", viewer: str, port: int) -> None:
    """Show a robot at rest in Viser, until Ctrl-C, or in Rerun."""
    from kinetree import views
    from kinetree.motion.trajectory import Trajectory
    from kinetree.views.loops import closed_rest

    if viewer == "rerun":
        q, rest = closed_rest(robot)[:1], np.zeros((1, robot.n))
        views.rerun(robot, Trajectory(t=np.zeros(1), q=q, dq=rest, ddq=rest, model=robot.model))
        return
    view = views.viser(robot, port=port or 8080)
    try:
        webbrowser.open(f"http://127.0.0.1:{view.server.get_port()}")
        wait()
    except KeyboardInterrupt:
        view.stop()


def opened(
    robot: "Robot", name: str | None, folder: Path | None, port: int, degrees: bool
) -> "Workbench":
    """The workbench with a robot; its page is not opened yet.

    name: of a built-in robot as it is, which scenes and links keep, so that they open anywhere.
    """
    from kinetree.views.scene import scene
    from kinetree.views.workbench.shelf import BUILT_IN
    from kinetree.views.workbench.view import view

    known = (name or "").lower().replace("-", "_")
    if known in BUILT_IN:
        return view(known, port=port, browser=False, degrees=degrees)
    with writer.waiting(f"reading the meshes of {robot.name}"):
        drawn = scene(robot, folder=folder)
    writer.notify_missing(drawn.remarks)
    return view(robot, drawn=drawn, meshes=folder, port=port, browser=False, degrees=degrees)


def serve(workbench: "Workbench", browser: bool, json: bool) -> None:
    """Print the address of the workbench, open it, and wait for Ctrl-C, which closes it."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(SIGNALLED + number)

    try:
        on_termination(end)
        if json:
            place = {"address": workbench.address, "port": workbench.guard.port}
            writer.print_json(place | {"robot": workbench.robot_name})
        else:
            print(f"The workbench is at {workbench.address}")
            print("Keep the address secret: who has it can use the workbench. Ctrl-C ends it.")
        sys.stdout.flush()  # so that a program can read it at once
        if browser:
            webbrowser.open(workbench.address)
        wait()
    except KeyboardInterrupt:
        print(file=sys.stderr)


def wait() -> None:
    """Wait until Ctrl-C; in pieces, because on Windows a long wait blocks it."""
    while not threading.Event().wait(0.5):
        pass
