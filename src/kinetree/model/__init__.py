"""Description -> Model, the one input of every algorithm."""

from kinetree.model.actuators import JointActuator
from kinetree.model.build import build_model
from kinetree.model.friction import JointFriction, JointStribeck
from kinetree.model.joint import Joint, joint_pose
from kinetree.model.model import WORLD, Frame, HasModel, JointRotor, Model, model_of
from kinetree.model.springs import JointSpring

__all__ = [
    "WORLD",
    "Frame",
    "HasModel",
    "Joint",
    "JointActuator",
    "JointFriction",
    "JointRotor",
    "JointSpring",
    "JointStribeck",
    "Model",
    "build_model",
    "joint_pose",
    "model_of",
]
