"""The page of the workbench: one self-contained document, and the headers that it is sent with."""

import gzip
import re
from dataclasses import dataclass
from importlib.resources import files

from kinetree.core.versions import __version__
from kinetree.files.loading import ROBOT_FILES
from kinetree.views.page.document import document

# scripts shared with other pages, then the workbench's own in app/, run one after the other
SHARED = ("kinematics.js", "closure.js", "orbit.js", "viewer.js", "plot.js", "unfold.js")
APP_SCRIPTS = (
    "dom.js", "api.js", "state.js", "pose.js", "marks.js", "layout.js", "stage.js", "sliders.js",
    "torques.js", "matrix.js", "unfolding.js", "push.js", "recursion.js", "run.js", "player.js",
    "panels.js", "check.js", "files.js", "keyboard.js", "main.js",
)  # fmt: skip
REFUSED = re.compile(r"\s*q=0(?:\.0*)?\s*")  # the weight of a coding that a client does not accept
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


@dataclass(frozen=True)
class Page:
    """The document, compressed, and its Content-Security-Policy."""

    body: bytes
    policy: str


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
    return Page(gzip.compress(html.encode()), f"{policy[1]}; frame-ancestors 'none'")


def own(name: str) -> str:
    """A file of the folder app/."""
    return files(__package__ or "").joinpath("app", name).read_text(encoding="utf-8")


def sent_page(page: Page, accepted: str) -> tuple[bytes, dict[str, str]]:
    """The page as a client accepts it (Accept-Encoding), compressed or not, and its headers.

    The headers allow only its own scripts and requests, and not a foreign frame around it.
    """
    codings = [x.partition(";") for x in accepted.lower().split(",")]
    is_packed = any(
        name.strip() in ("gzip", "*") and not REFUSED.fullmatch(weight)
        for name, _, weight in codings
    )
    return page.body if is_packed else gzip.decompress(page.body), {
        "Content-Security-Policy": page.policy,
        "Content-Type": "text/html; charset=utf-8",
        **({"Content-Encoding": "gzip"} if is_packed else {}),
        "Vary": "Accept-Encoding",
        "Cross-Origin-Opener-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }
