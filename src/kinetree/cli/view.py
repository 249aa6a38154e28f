"""`kinetree view`: the workbench in the browser."""

import sys
import threading
import webbrowser
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from cyclopts import Parameter

from kinetree.cli.arguments import (
    AS_IT_IS,
    BasicReading,
    Degrees,
    Json,
    Reading,
    RobotName,
    whole_argument,
)
from kinetree.cli.choices import find_robot, mesh_folder
from kinetree.cli.messages import notify_missing
from kinetree.cli.output import print_json, waiting
from kinetree.core.system import on_termination

if TYPE_CHECKING:
    from kinetree.robot import Robot
    from kinetree.views.workbench.view import Workbench

SIGNALLED = 128  # exit code of a program that a signal ended, less the number of the signal


def view(
    robot: RobotName = "panda",
    /,
    *,
    port: Annotated[int, whole_argument("Port of 127.0.0.1; 0 takes a free one.")] = 0,
    browser: Annotated[
        bool,
        Parameter(
            name="--browser",
            negative="--no-browser",
            show_default=False,
            help="Open the page; --no-browser only prints its address.",
        ),
    ] = True,
    viewer: Annotated[
        Literal["workbench", "viser", "rerun"],
        Parameter(help="Program that shows the robot; viser and rerun are extras."),
    ] = "workbench",
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
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
    ```

    JSON has address, port, robot.
    """
    if viewer != "workbench":
        show_elsewhere(find_robot(robot, reading), viewer, port)
        return
    with opened(robot, reading, port, degrees) as workbench:
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
        while not threading.Event().wait(0.5):
            pass
    except KeyboardInterrupt:
        view.stop()


def opened(robot: str, reading: BasicReading, port: int, degrees: bool) -> "Workbench":
    """The workbench with a built-in robot or with one of a file; its page is not opened yet."""
    from kinetree.views.scene import scene
    from kinetree.views.workbench.shelf import BUILT_IN
    from kinetree.views.workbench.view import view

    path, loaded = Path(robot), find_robot(robot, reading)
    if not path.is_file():
        name = robot.lower().replace("-", "_")
        unchanged = reading == AS_IT_IS
        # a built-in robot as it is has its own name in scenes and links, which open anywhere
        first = name if name in BUILT_IN and unchanged else loaded
        return view(first, port=port, browser=False, degrees=degrees)
    folder = mesh_folder(reading)
    with waiting(f"reading the meshes of {path.name}"):
        drawn = scene(loaded, path, folder)
    notify_missing(drawn.remarks)
    return view(loaded, drawn=drawn, meshes=folder, port=port, browser=False, degrees=degrees)


def serve(workbench: "Workbench", browser: bool, json: bool) -> None:
    """Print the address of the workbench, open it, and wait for Ctrl-C, which closes it."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(SIGNALLED + number)

    try:
        on_termination(end)
        announce(workbench, json)
        if browser:
            webbrowser.open(workbench.address)
        while not threading.Event().wait(0.5):  # in pieces: on Windows a long wait blocks Ctrl-C
            pass
    except KeyboardInterrupt:
        print(file=sys.stderr)


def announce(workbench: "Workbench", json: bool) -> None:
    """Print the address of the workbench, flushed, so that a program can read it at once."""
    if json:
        place = {"address": workbench.address, "port": workbench.guard.port}
        print_json(place | {"robot": workbench.robot_name})
    else:
        print(f"The workbench is at {workbench.address}")
        print("Keep the address secret: everyone who has it can use the workbench. Ctrl-C ends it.")
    sys.stdout.flush()
