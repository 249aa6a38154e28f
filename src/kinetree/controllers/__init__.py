"""Controllers: joint forces from the state of a robot, compiled into its simulation."""

from kinetree.controllers.controller import Controller, Law

__all__ = ["Controller", "Law"]
