"""view: open the workbench on a robot, in the browser."""

import webbrowser
from pathlib import Path

from kinetree.robot import Robot
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene
from kinetree.views.workbench.api import answer
from kinetree.views.workbench.guard import Guard, address
from kinetree.views.workbench.page import make_page
from kinetree.views.workbench.server import Server, listen
from kinetree.views.workbench.shelf import Shelf
from kinetree.views.workbench.state import Request


class Workbench:
    """A running workbench; it ends with `stop`, or at the end of `with view(robot) as bench`."""

    def __init__(self, server: Server, shelf: Shelf, robot_name: str) -> None:
        self.server, self.shelf, self.robot_name = server, shelf, robot_name

    @property
    def guard(self) -> Guard:
        """The port and the token."""
        return self.server.guard

    @property
    def address(self) -> str:
        """The address to open in a browser; the token in it gives access."""
        return address(self.guard)

    def stop(self) -> None:
        """End the server and its threads, and remove uploaded files."""
        self.shelf.close()
        self.server.stop()

    def __enter__(self) -> "Workbench":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def view(
    robot: Robot | str = "panda",
    *,
    drawn: Scene | None = None,
    meshes: Path | None = None,
    port: int = 0,
    browser: bool = True,
    degrees: bool = False,
    token: str | None = None,
) -> Workbench:
    """Open the workbench in the browser; it can be reached from this machine only.

    Args:
        robot: the robot, or the name of a built-in one.
        drawn: its shapes, if they are known already, as from `scene`.
        meshes: the only folder that meshes are read from; None means the ROS package or repository
            of the robot's file, or else its folder.
        port: port of 127.0.0.1; 0 means any free port.
        browser: whether to open the page.
        degrees: show angles in degrees.
        token: the secret of the address, for tests; None means a fresh one.
    """
    shelf = Shelf()
    try:
        if isinstance(robot, str):
            first = shelf.find(robot)
        else:
            drawn = scene(robot, folder=meshes) if drawn is None else drawn
            source = getattr(robot.report, "source", None)
            name = robot.name if source is None else Path(source).name
            first = shelf.give(robot, drawn, name)
        page = make_page(first.id, degrees)
        listening = listen(port)
        number = listening.getsockname()[1]
        guard = Guard(number) if token is None else Guard(number, token)
    except BaseException:
        shelf.close()
        raise

    def respond(name: str, request: Request) -> object:
        return answer(shelf, name, request)

    workbench = Workbench(Server(listening, guard, page, respond), shelf, first.robot.name)
    if browser:
        webbrowser.open(workbench.address)
    return workbench
