"""The workbench: a robot in the browser, with everything about its dynamics beside it."""

from kinetree.views.workbench.view import view

__all__ = ["view"]
