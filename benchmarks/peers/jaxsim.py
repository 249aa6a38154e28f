"""jaxsim on JAX: its recursions of a fixed base, mapped over states.

It reads URDF only with the programs of Gazebo, so it gets the robot as SDF.
"""

import functools
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.peers.jax_batch import jax  # noqa: F401  # sets its number type first
from benchmarks.robots import Case, scratch
from kinetree.files.write.urdf import roll_pitch_yaw
from kinetree.model import WORLD, Model

INERTIA = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}


@functools.cache
def model_of(case: Case) -> Any:
    """jaxsim's model of the robot."""
    import jaxsim.api as js

    path = scratch() / f"{case.key}.sdf"
    path.write_text(sdf_of(case.model))
    return js.model.JaxSimModel.build_from_model_description(path, gravity=9.81)


def sdf_of(model: Model) -> str:
    """The masses, poses and axes of a robot with hinges and slides, on the world, as SDF."""
    root = ElementTree.Element("sdf", version="1.11")
    robot = ElementTree.SubElement(root, "model", name=model.name)

    def leaf(parent: ElementTree.Element, tag: str, values: Any) -> ElementTree.Element:
        child = ElementTree.SubElement(parent, tag)
        texts = [values] if isinstance(values, str) else [repr(float(x)) for x in np.ravel(values)]
        child.text = " ".join(texts)
        return child

    names = {WORLD: "world", **dict(enumerate(model.link_names))}
    for i, joint in enumerate(model.joints):
        T, A, parent = np.asarray(model.M_pi[i], float), joint.screw, names[model.parent[i]]
        link = ElementTree.SubElement(robot, "link", name=names[i])
        place = leaf(link, "pose", [*T[:3, 3], *roll_pitch_yaw(T[:3, :3])])
        if parent != "world":  # the frame of the model is that of the world
            place.set("relative_to", parent)
        inertial = ElementTree.SubElement(link, "inertial")
        leaf(inertial, "pose", [*model.com[i], 0, 0, 0])
        leaf(inertial, "mass", model.m[i])
        moments = ElementTree.SubElement(inertial, "inertia")
        for key, at in INERTIA.items():
            leaf(moments, key, model.I_com[i][at])
        turns = bool(np.any(A[:3]))
        kind = "revolute" if turns else "prismatic"
        hinge = ElementTree.SubElement(robot, "joint", name=joint.name, type=kind)
        if turns:
            leaf(hinge, "pose", [*np.cross(A[:3], A[3:]), 0, 0, 0])
        leaf(hinge, "parent", parent)
        leaf(hinge, "child", names[i])
        axis = ElementTree.SubElement(hinge, "axis")
        leaf(axis, "xyz", A[:3] if turns else A[3:])
    return ElementTree.tostring(root, encoding="unicode")


def function_of(case: Case, quantity: str) -> tuple[Callable[..., Any], np.ndarray]:
    """A quantity of one state, and the columns of its joints."""
    import jaxsim.api as js

    model = model_of(case)

    def state(q: Any, dq: Any = None) -> Any:
        return js.data.JaxSimModelData.build(model, joint_positions=q, joint_velocities=dq)

    functions = {
        "inverse_dynamics": lambda q, dq, ddq: js.model.inverse_dynamics(
            model, state(q, dq), joint_accelerations=ddq
        )[1],
        "forward_dynamics": lambda q, dq, tau: js.model.forward_dynamics_aba(
            model, state(q, dq), joint_forces=tau
        )[1],
        "mass_matrix": lambda q: js.model.free_floating_mass_matrix(model, state(q))[6:, 6:],
    }
    return functions[quantity], case.columns(model.joint_names())
