"""The page of the workbench: one self-contained document, and the headers that it is sent with."""

import re
from dataclasses import dataclass
from importlib.resources import files

from kinetree.core.versions import __version__
from kinetree.files.loading import ROBOT_FILES
from kinetree.views.page.document import document

# scripts shared with other pages, then the workbench's own in app/, run one after the other
SHARED = (
    "numbers.js", "kinematics.js", "closure.js", "pose.js", "orbit.js", "viewer.js", "plot.js",
    "unfold.js",
)  # fmt: skip
APP_SCRIPTS = (
    "dom.js", "api.js", "state.js", "marks.js", "layout.js", "stage.js", "sliders.js",
    "torques.js", "matrix.js", "unfolding.js", "push.js", "drag.js", "recursion.js", "run.js",
    "player.js", "panels.js", "files.js", "keyboard.js", "main.js",
)  # fmt: skip
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


@dataclass(frozen=True)
class Page:
    """The document, and the headers that allow only its own scripts and no foreign frame."""

    body: bytes
    headers: dict[str, str]


def make_page(first: str, degrees: bool) -> Page:
    """The page that opens the robot with the id `first`."""
    data = {
        "first": first,
        "degrees": degrees,
        "version": __version__,
        "robot_files": list(ROBOT_FILES),
    }
    html = document(
        "kinetree workbench",
        own("workbench.html"),
        data,
        SHARED,
        own_style=own("workbench.css"),
        own_scripts=[own(name) for name in APP_SCRIPTS],
        connect="'self'",
        formulas=True,
    )
    policy = POLICY.search(html)
    assert policy is not None
    headers = {
        "Content-Security-Policy": f"{policy[1]}; frame-ancestors 'none'",
        "Content-Type": "text/html; charset=utf-8",
        "Cross-Origin-Opener-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }
    return Page(html.encode(), headers)


def own(name: str) -> str:
    """A file of the folder app/."""
    return files(__package__ or "").joinpath("app", name).read_text(encoding="utf-8")
