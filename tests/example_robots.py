"""Robots of the package example-robot-data, where it is installed."""

import dataclasses
import sysconfig
import warnings
from functools import cache
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.errors import KinetreeWarning
from kinetree.files.loading import read
from kinetree.model import Model, build_model

FOLDER = "cmeel.prefix/share/example-robot-data/robots"
FILES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
}
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


def path_of(name: str) -> Path:
    """The file of a robot; the test is skipped where it is not installed."""
    path = Path(sysconfig.get_path("purelib")) / FOLDER / FILES[name]
    if not path.is_file():
        pytest.skip("example-robot-data is not installed")
    return path


@cache
def example(name: str) -> Model:
    """Panda with locked fingers (7 joints), UR5 (6), Talos on a fixed base, with a tool (44)."""
    path = path_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)  # what the files say beyond dynamics
        if name != "panda":
            model = kt.load(path, mimic=False).model
            return model.replace(tool=model.tool or model.link_names[-1])
        description = read(path)
        joints = tuple(
            dataclasses.replace(joint, type="fixed", A=None, mimic=None)
            if joint.name in FINGERS
            else joint
            for joint in description.joints
        )
        return build_model(dataclasses.replace(description, joints=joints), unphysical="allow")
