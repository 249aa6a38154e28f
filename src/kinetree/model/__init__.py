"""Description -> Model, the one input of every algorithm.

Limits, inputs and random samples of models, for other rooms, are imported when first used.
"""

from kinetree.core.later import later
from kinetree.model.actuators import JointActuator
from kinetree.model.build import build_model
from kinetree.model.friction import JointFriction, JointStribeck
from kinetree.model.joint import Joint, joint_pose
from kinetree.model.model import WORLD, Frame, HasModel, JointRotor, Model, model_of
from kinetree.model.motors import GearedMotor
from kinetree.model.springs import JointSpring

__all__ = [
    "WORLD",
    "Frame",
    "GearedMotor",
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

__getattr__ = later(
    __name__,
    {
        "bounds": "bounds_of force_share with_limits",
        "friction": "joint_friction",
        "inputs": "coordinates frame_wrenches link_wrenches zeros",
        "samples": "ALL_TYPES SCREWS random_body random_direction random_model random_pose",
    },
)
