"""Names that people bring from other libraries, and what they are called here.

An attribute that does not exist raises `UnknownAttributeError`. Its message names ours with a call;
for other names the nearest of ours. The message is made when it is shown: code that asks with
`hasattr` or `getattr` with a default costs nothing more.
"""

import difflib
from collections.abc import Callable, Iterable

from kinetree.errors import KinetreeError

# ours, and what others call it: lower case, without underscores. The names are those of Pinocchio,
# the Robotics Toolbox, MuJoCo, RBDL, Drake and PyBullet.
SPELLINGS: dict[str, str] = {
    "robot.inverse_dynamics(q, dq, ddq)": "rnea rne id mjinverse mjrne calcinversedynamics torque",
    "robot.forward_dynamics(q, dq, tau)": "aba fd accel mjforward qacc articulatedbodyalgorithm",
    "robot.mass_matrix(q)": "crba m inertia mjfullm qm calcmassmatrix calculatemassmatrix",
    "robot.coriolis_matrix(q, dq)": "coriolis computecoriolismatrix c",
    "robot.coriolis_forces(q, dq)": "calcbiasterm jnttocoriolis coriolisterm",
    "robot.gravity_forces(q)": "gravload gravity g computegeneralizedgravity gravitycompensation",
    "robot.bias_forces(q, dq), springs and friction included": "nle nonlineareffects qfrcbias h",
    "robot.pose(q, frame)": "fkine fk forwardkinematics omf sitexpos jnttocart getlinkstate",
    "robot.link_poses(q)": "fkineall omi xpos",
    "robot.body_jacobian(q, frame) in the frame's axes or robot.space_jacobian(q, frame) in {s}, "
    "angular rows first": "jacobian jacob0 jacobe getframejacobian computejointjacobians mjjac",
    "robot.compile('body_jacobian_rate', frame=frame)(q, dq)": "jacobiandot jacob0dot",
    "robot.inverse_kinematics(T)": "ik ikine ikinelm iklm calculateinversekinematics",
    "robot.center_of_mass(q)": "com subtreecom calccenterofmasspositioninworld",
    "robot.centroidal_momentum(q, dq)": "hg computecentroidalmomentum",
    "robot.compile('centroidal_momentum_matrix')(q), angular rows first": "ccrba ag",
    "robot.inverse_mass_matrix(q)": "computeminverse minv",
    "robot.frame_velocity(q, dq, frame)": "getframevelocity getlinkvelocity",
    "robot.frame_acceleration(q, dq, ddq, frame)": "getframeacceleration",
    "robot.task_space(q, dq, frame=frame)": "operationalspace lambdamatrix",
    "robot.regressor(q, dq, ddq)": "computejointtorqueregressor",
    "robot.inverse_dynamics_derivatives(q, dq, ddq)": "computerneaderivatives",
    "robot.forward_dynamics_derivatives(q, dq, tau)": "computeabaderivatives mjdtransitionfd",
    "robot.simulate(q0, duration=1.0)": "fdyn mjstep stepsimulation rollout",
    "kt.load(path)": "loadurdf loadmjcf urdf fromurdf mjmodel buildmodelfromurdf robotwrapper",
    "kt.convert.from_dh(table, m=, com=, I_com=)": "dhrobot dh",
    "[joint.limits for joint in robot.model.joints]": "qlim limits jointlimits lowerpositionlimit",
    "robot.n": "nv ndof dof dofs njoints numjoints",
    "robot.joint_names": "names jointnames joints",
    "robot.model.link_names": "links linknames bodynames nlinks",
    "robot.model.frames": "frames framenames getframeid",
    "robot.model.m": "masses mass bodymass",
    "robot.neutral()": "q0 qz qpos0 home neutralconfiguration",
    "robot.random()": "randomconfiguration randomq",
    "robot.with_payload(m, com)": "payload setpayload",
    "robot.with_gravity(g)": "setgravity",
    "robot.with_tool(name, at)": "tool settool",
    "kt.views.report_page(robot), or kinetree view": "show plot display visualize view",
    "kt.export(robot, folder)": "export codegen generatecode",
    "kt.symbolic(robot)": "symbolic equations",
    "an argument (q, dq, tau); a robot stores no state": "q qd qdd dq ddq tau qpos qvel mjdata",
}


class UnknownAttributeError(KinetreeError, AttributeError):
    """An attribute that does not exist; the message has our name for it, or the nearest one.

    Args:
        owner: the object, in words.
        name: the attribute.
        known: returns the attributes that exist.
    """

    def __init__(self, owner: str, name: str, known: Callable[[], Iterable[str]]) -> None:
        super().__init__(owner, name)
        self.name = name
        self._parts = owner, name, known

    def __str__(self) -> str:
        owner, name, known = self._parts
        return f"{owner} has no attribute {name!r}{remedy(name, known())}"

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)


def remedy(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: our name for it, or the nearest of `known`, or where to look."""
    names = [x for x in known if not x.startswith("_")]
    inside = [x for x in names if x.rpartition(".")[2] == name]
    ours = translated(name)
    if inside and not (ours or "").startswith(f"robot.{name}("):  # a name of a public module
        return f"; here it is kt.{inside[0]}."
    if ours is not None:
        return f"; here it is {ours}."
    near = difflib.get_close_matches(name.lower(), names, 3, 0.6)
    return f". Did you mean {' or '.join(near)}?" if near else "; dir() lists what there is."


def translated(name: str) -> str | None:
    """Return our call for a name of another library, in any spelling; None if it is not known."""
    plain = name.replace("_", "").lower()
    for ours, others in SPELLINGS.items():
        if plain in others.split() or f"robot.{name}(" in ours:
            return ours
    return None
