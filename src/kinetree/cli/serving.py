"""A workbench for the command line: which robot it opens, and how it ends."""

import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetree.cli.choices import find_robot
from kinetree.errors import InputError
from kinetree.extras import need

if TYPE_CHECKING:
    from kinetree.views.workbench.view import Workbench

TERMINATED = 143  # exit code: 128 and the number of the signal


def opened(robot: str, folder: Path | None, port: int, degrees: bool) -> "Workbench":
    """The workbench on a built-in robot or on one of a file, its page not opened yet."""
    need("viser", "view", "The workbench")
    from kinetree.views.workbench.files import read_robot
    from kinetree.views.workbench.view import view

    if folder is not None and not folder.is_dir():
        raise InputError(f"--folder is {folder}, which is no folder.")
    options: dict[str, Any] = {"port": port, "browser": False, "degrees": degrees}
    path = Path(robot)
    if not path.is_file():
        return view(find_robot(robot), **options)
    found, drawn, notes = read_robot(path, folder)
    return view(found, drawn=drawn, notes=notes, meshes=folder, **options)


def wait_for_end() -> None:
    """Wait for Ctrl-C, which is the way to close a workbench; a request to end is heard too."""

    def end(*_: Any) -> None:
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, end)
    try:
        while not threading.Event().wait(0.5):  # in pieces: on Windows a long wait hears nothing
            pass
    except KeyboardInterrupt:
        print()
