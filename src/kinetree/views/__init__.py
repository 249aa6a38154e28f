"""Views: results for the eye. Nothing but the command line imports them."""

from kinetree.views.arrows import Arrow, recursion_arrows
from kinetree.views.identification_page import identification_page
from kinetree.views.report_page import report_page
from kinetree.views.scene import scene
from kinetree.views.session_page import session_page
from kinetree.views.shapes import Scene, Shape, TriangleMesh

__all__ = [
    "Arrow",
    "Scene",
    "Shape",
    "TriangleMesh",
    "identification_page",
    "recursion_arrows",
    "report_page",
    "scene",
    "session_page",
]
