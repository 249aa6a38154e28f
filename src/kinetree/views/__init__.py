"""Views: robots, motions and identifications as HTML pages and in the workbench."""

from kinetree.views.arrows import Arrow, recursion_arrows
from kinetree.views.page.identification import identification_page
from kinetree.views.page.report import report_page
from kinetree.views.page.session import session_page
from kinetree.views.render import Rendering, render
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene, Shape, TriangleMesh

__all__ = [
    "Arrow",
    "Rendering",
    "Scene",
    "Shape",
    "TriangleMesh",
    "identification_page",
    "recursion_arrows",
    "render",
    "report_page",
    "scene",
    "session_page",
]
