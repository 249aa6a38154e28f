"""Views: robots, motions and identifications as HTML pages and in the workbench."""

import typing

from kinetree.core.later import later
from kinetree.views.render import Rendering, render
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene, Shape, TriangleMesh

if typing.TYPE_CHECKING:
    from kinetree.views.page.identification import identification_page
    from kinetree.views.page.report import report_page
    from kinetree.views.page.session import session_page
    from kinetree.views.with_rerun import rerun
    from kinetree.views.with_viser import ViserView, viser

__all__ = [
    "Rendering",
    "Scene",
    "Shape",
    "TriangleMesh",
    "ViserView",
    "identification_page",
    "render",
    "report_page",
    "rerun",
    "scene",
    "session_page",
    "viser",
]

# one page needs few of the others, and that of an identification imports its whole folder
__getattr__ = later(
    __name__,
    {
        "page.identification": "identification_page",
        "page.report": "report_page",
        "page.session": "session_page",
        "with_rerun": "rerun",
        "with_viser": "ViserView viser",
    },
)
