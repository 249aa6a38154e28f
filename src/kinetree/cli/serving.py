"""A workbench for the command line: which robot it opens, and how it ends."""

import signal
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetree.base.extras import need
from kinetree.cli.arguments import BasicReading
from kinetree.cli.choices import check_folders, find_robot, mesh_folder
from kinetree.cli.show import print_json
from kinetree.cli.waiting import waiting

if TYPE_CHECKING:
    from kinetree.views.workbench.view import Workbench

TERMINATED = 143  # exit code: 128 and the number of the signal


def opened(robot: str, reading: BasicReading, port: int, degrees: bool) -> "Workbench":
    """The workbench on a built-in robot or on one of a file, its page not opened yet."""
    need("viser", "view", "The workbench")
    from kinetree.views.workbench.files import read_robot
    from kinetree.views.workbench.view import view

    check_folders(reading)
    options: dict[str, Any] = {"port": port, "browser": False, "degrees": degrees}
    path = Path(robot)
    if not path.is_file():
        return view(find_robot(robot, reading), **options)
    folder = mesh_folder(reading)
    with waiting(f"reading {path.name}"):
        found, drawn, notes = read_robot(path, folder, **reading.options())
    return view(found, drawn=drawn, notes=notes, meshes=folder, **options)


def serve(workbench: "Workbench", browser: bool, json: bool) -> None:
    """Say where the workbench is, open it, and wait for Ctrl-C, which is the way to close it."""

    def end(*_: Any) -> None:
        sys.exit(TERMINATED)

    try:
        signal.signal(signal.SIGTERM, end)
        announce(workbench, json)
        if browser:
            webbrowser.open(workbench.address)
        while not threading.Event().wait(0.5):  # in pieces: on Windows a long wait hears nothing
            pass
    except KeyboardInterrupt:
        print(file=sys.stderr)


def announce(workbench: "Workbench", json: bool) -> None:
    """Say where the workbench is; a program that reads it gets it at once."""
    bench = workbench.bench
    if json:
        place = {"address": workbench.address, "port": bench.guard.port}
        print_json(place | {"robot": bench.state.robot.name})
    else:
        print(f"The workbench is at {workbench.address}")
        print("Keep the address to yourself: who has it can use the workbench. Ctrl-C ends it.")
    sys.stdout.flush()
