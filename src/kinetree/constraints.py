"""Constraints that `Robot.constrained` takes: closed loops, held frames, coupled joints, rods."""

from kinetree.files.description.constraints import Constraint, Couple, Hold, Loop, Rod

__all__ = ["Constraint", "Couple", "Hold", "Loop", "Rod"]
