"""Description -> Model, the one input of every algorithm."""

from kinetree.model.build import build_model
from kinetree.model.builder import Builder
from kinetree.model.model import WORLD, Frame, JointFriction, JointRotor, Model

__all__ = ["WORLD", "Builder", "Frame", "JointFriction", "JointRotor", "Model", "build_model"]
