"""Other libraries on the same robot, written out as a file for them: one state a call."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from math import isfinite
from typing import Any

import numpy as np

from kinetree.description.joints import REVOLUTE
from kinetree.errors import KinetreeError, KinetreeWarning
from kinetree.model import Joint
from kinetree.robot import Robot

Calls = dict[str, Callable[..., Any]]


def peer_calls(robot: Robot, notes: list[str]) -> dict[str, Calls]:
    """The functions of every peer that is installed and can read the robot; notes say why not."""
    found = {}
    for name, make in (("Pinocchio", _pinocchio), ("MuJoCo", _mujoco)):
        try:
            found[name] = make(robot)
        except ImportError:
            notes.append(f"{name} is not installed.")
        except (KinetreeError, ValueError, RuntimeError) as error:
            notes.append(f"{name} cannot take this robot: {first_line(error)}")
    return found


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def written(robot: Robot, method: str, **options: Any) -> str:
    """The robot as a file for a peer; every hinge with limits, or some make two numbers of it."""
    joints = tuple(_bounded(joint) for joint in robot.model.joints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        return getattr(Robot(robot.model.replace(joints=joints)), method)(**options)


def _bounded(joint: Joint) -> Joint:
    limits = joint.limits
    if joint.type != REVOLUTE or isfinite(limits.lower) or isfinite(limits.upper):
        return joint
    return replace(joint, limits=replace(limits, lower=-1e4, upper=1e4))


def _columns(robot: Robot, theirs: list[str]) -> list[int]:
    """Where each of the peer's joints stands in our vectors; only joints of one number."""
    ours = list(robot.model.joint_names)
    if robot.model.n != robot.model.nq or robot.model.n != len(ours):
        raise ValueError("it has joints of several degrees of freedom.")
    if sorted(ours) != sorted(theirs):
        raise ValueError(f"it reads the joints as {', '.join(theirs)}.")
    return [ours.index(name) for name in theirs]


def _pinocchio(robot: Robot) -> Calls:
    pin: Any = import_module("pinocchio")

    model = pin.buildModelFromXML(written(robot, "to_urdf", infinity=1e9))
    model.gravity.linear = np.asarray(robot.model.gravity[3:], float)
    data = model.createData()
    order = _columns(robot, list(model.names)[1:])
    back = np.argsort(order)

    def vectors(function: Any) -> Callable[..., Any]:
        if order == sorted(order):
            return partial(function, model, data)
        return lambda *x: function(model, data, *(y[order] for y in x))[back]

    def mass_matrix(q: Any) -> Any:
        M = pin.crba(model, data, q[order])
        return M[np.ix_(back, back)]

    return {
        "inverse_dynamics": vectors(pin.rnea),
        "forward_dynamics": vectors(pin.aba),
        "mass_matrix": mass_matrix,
    }


def _mujoco(robot: Robot) -> Calls:
    mujoco: Any = import_module("mujoco")

    model = mujoco.MjModel.from_xml_string(written(robot, "to_mjcf"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    order = _columns(robot, [model.joint(k).name for k in range(model.njnt)])
    back = np.argsort(order)

    def inverse(q: Any, dq: Any, ddq: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qacc[:] = q[order], dq[order], ddq[order]
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse[back]

    def forward(q: Any, dq: Any, tau: Any) -> Any:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[order], dq[order], tau[order]
        mujoco.mj_forward(model, data)
        return data.qacc[back]

    def mass_matrix(q: Any) -> Any:
        data.qpos[:] = q[order]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, *((M, data.qM) if hasattr(data, "qM") else (data, M)))
        return M[np.ix_(back, back)]

    return {"inverse_dynamics": inverse, "forward_dynamics": forward, "mass_matrix": mass_matrix}
