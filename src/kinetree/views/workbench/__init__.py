"""The workbench: a robot in the browser with its motion, forces, equations and recursion."""

from kinetree.views.workbench.view import view

__all__ = ["view"]
