"""Description -> Model, the one input of every algorithm.

Limits and inputs of models, for other folders, are imported when first used.
"""

from kinetree.core.later import later
from kinetree.model.build import build_model
from kinetree.model.elements import GearedMotor, JointActuator, JointSpring
from kinetree.model.joint import Joint, JointRotor, joint_pose
from kinetree.model.model import WORLD, Frame, HasModel, Model, model_of

__all__ = [
    "WORLD",
    "Frame",
    "GearedMotor",
    "HasModel",
    "Joint",
    "JointActuator",
    "JointRotor",
    "JointSpring",
    "Model",
    "build_model",
    "joint_pose",
    "model_of",
]

__getattr__ = later(
    __name__,
    {
        "bounds": "bounds_of force_share with_limits",
        "inputs": "coordinates frame_wrenches link_wrenches zeros",
    },
)
