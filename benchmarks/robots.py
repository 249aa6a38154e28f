"""The robots of the benchmark, and the states on which all libraries are timed."""

import functools
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from kinetree import Robot
from kinetree.dynamics.joints.friction import frictionless
from kinetree.files.description.joints import FIXED
from kinetree.files.description.records import JointDescription
from kinetree.files.loading import float_base, read
from kinetree.model import Model, build_model

Arrays = tuple[np.ndarray, ...]

# what dynamics does not read, or what some of the peers ignore and others honour
NO_DYNAMICS = {"visual", "collision", "mimic", "dynamics", "safety_controller", "calibration"}
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


@dataclass(frozen=True)
class Source:
    """A file of the package example-robot-data; joints whose name has `locked` in it are fixed."""

    file: str
    title: str
    locked: str = ""


SOURCES = {
    "panda": Source("panda_description/urdf/panda.urdf", "Panda 7", locked="finger"),
    "ur5": Source("ur_description/urdf/ur5_robot.urdf", "UR5 6"),
    "talos": Source("talos_data/robots/talos_full_v2.urdf", "Talos 44"),
}
# of commands of their own alone
OTHERS = {"hyq": Source("hyq_description/robots/hyq_no_sensors.urdf", "HyQ on a free base, 18")}


@dataclass(frozen=True, eq=False)
class Case:
    """One robot: its model for kinetree, and the same as a bare URDF file for the peers."""

    key: str
    model: Model
    urdf: str

    @functools.cached_property
    def robot(self) -> Robot:
        """The front door."""
        return Robot(self.model)

    @property
    def text(self) -> str:
        """The bare URDF."""
        return Path(self.urdf).read_text()

    def columns(self, names: Any) -> np.ndarray:
        """Where a peer's joints stand in kinetree's order: `x[..., columns]` is in its order."""
        return np.array([self.model.joint_names.index(str(name)) for name in names])


def data_file(source: Source) -> Path:
    """The robot's file in the installed package, which has data and no module to import."""
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError as problem:
        raise FileNotFoundError(
            "the robots of the benchmark are in the package example-robot-data, which is not "
            "installed: pip install 'kinetree[bench]'."
        ) from problem
    folder = "cmeel.prefix/share/example-robot-data/robots"
    return Path(str(package.locate_file(f"{folder}/{source.file}")))


def load(key: str, *, floating: bool = False) -> Case:
    """The robot called "panda", "ur5" or "talos"; `floating`: on a free joint called "base"."""
    source = (SOURCES | OTHERS)[key]
    path = data_file(source)
    description = read(path)
    joints = tuple(changed(joint, source) for joint in description.joints)
    description = replace(description, joints=joints)
    model = build_model(float_base(description) if floating else description, unphysical="allow")
    return Case(key, frictionless(model), str(bare_urdf(path, source, key)))


def changed(joint: JointDescription, source: Source) -> JointDescription:
    """The joint locked at 0 where the benchmark wants it locked, and following no other."""
    if source.locked and source.locked in joint.name:
        return replace(joint, type=FIXED, A=None, mimic=None)
    return replace(joint, mimic=None)


def bare_urdf(path: Path, source: Source, key: str) -> Path:
    """The same change written to a file that every peer can read: links and joints alone."""
    root = ET.parse(path).getroot()
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
        for child in list(element):
            if child.tag in NO_DYNAMICS:
                element.remove(child)
        if element.tag == "joint" and source.locked and source.locked in element.get("name", ""):
            element.set("type", "fixed")
    target = scratch() / f"{key}.urdf"
    ET.ElementTree(root).write(target)
    return target


@functools.cache
def scratch() -> Path:
    """A temporary folder for the files that peers read and compile; deleted at exit."""
    holder = tempfile.TemporaryDirectory(prefix="kinetree-bench-")
    _holders.append(holder)
    return Path(holder.name)


_holders: list[Any] = []


def states(case: Case, quantity: str, count: int | None) -> Arrays:
    """The arguments of `quantity`, C-contiguous (count, n), or (n,) where count is None."""
    n = case.model.n
    shape = (n,) if count is None else (count, n)
    rng = np.random.default_rng(7)
    q = rng.uniform(-np.pi, np.pi, shape)
    dq, last = rng.normal(size=shape), rng.normal(size=shape)
    return (q,) if quantity == "mass_matrix" else (q, dq, last)
