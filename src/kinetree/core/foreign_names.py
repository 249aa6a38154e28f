"""Names that people bring from other libraries, and what they are called here.

An attribute that does not exist raises `UnknownAttributeError`. Its message names ours with a call;
for other names the nearest of ours. The message is made when it is shown: code that asks with
`hasattr` or `getattr` with a default costs nothing more.
"""

import difflib
from collections.abc import Callable, Iterable

from kinetree.errors import KinetreeError

# ours, and what others call it: lower case, without underscores. The names are those of Pinocchio,
# the Robotics Toolbox, MuJoCo, RBDL, Drake, PyBullet, KDL, iDynTree and adam.
SPELLINGS: dict[str, str] = {
    "robot.inverse_dynamics(q, dq, ddq)": """rnea rne id inversedynamics mjinverse mjrne qfrcinverse
        calcinversedynamics calculateinversedynamics computestatictorque chainidsolverrne torque
        torques""",
    "robot.forward_dynamics(q, dq, tau)": """aba fd accel forwarddynamics forwarddynamicslagrangian
        mjforward qacc articulatedbodyalgorithm""",
    "robot.mass_matrix(q)": """crba m inertia inertiamatrix mjfullm qm calcmassmatrix massmatrix
        calcmassmatrixviainversedynamics calculatemassmatrix compositerigidbodyalgorithm
        getfreefloatingmassmatrix jnttomass jointspaceinertia""",
    "robot.coriolis_matrix(q, dq)": "coriolis computecoriolismatrix c",
    "robot.coriolis_forces(q, dq)": "calcbiasterm jnttocoriolis coriolisterm coriolisforce",
    "robot.gravity_forces(q)": """gravload gravity g computegeneralizedgravity gravityterm
        calcgravitygeneralizedforces jnttogravity generalizedgravityforces gravitytorques
        gravityvector gravitycompensation""",
    "robot.bias_forces(q, dq), springs and friction included": """nle nonlineareffects qfrcbias
        biasterm biasforce h generalizedbiasforces""",
    "robot.pose(q, frame)": """fkine fk forwardkinematics framesforwardkinematics oMf sitexpos
        updateframeplacements jnttocart evalbodyposeinworld getworldtransform getlinkstate
        calcbodytobasecoordinates endeffectorpose""",
    "robot.link_poses(q)": "fkineall omi xpos",
    "robot.body_jacobian(q, frame) in the frame's axes or robot.space_jacobian(q, frame) in {s}, "
    "angular rows first": """jacobian calculatejacobian
        computejointjacobians computejointjacobian computeframejacobian getframejacobian mjjac
        mjjacbody mjjacsite calcpointjacobian calcpointjacobian6d calcjacobianspatialvelocity
        getframefreefloatingjacobian jnttojac jacobians""",
    "robot.body_jacobian(q, frame) turned to the axes of {s}, angular rows first; "
    "robot.space_jacobian(q, frame) is that of the point at the origin of {s}": "jacob0",
    "robot.body_jacobian(q, frame), angular rows first": "jacobe calcbodyspatialjacobian",
    "robot.body_jacobian_rate(q, dq, frame) in the frame's axes or "
    "robot.space_jacobian_rate(q, dq, frame) in {s}, angular rows first": """jacobiandot jacob0dot
        jacobedot getframejacobiantimevariation""",
    "robot.inverse_kinematics(T)": """ik ikine ikinelm ikinea iklm ikgn iknr inversekinematics
        calculateinversekinematics carttojnt""",
    "robot.center_of_mass(q)": """com composition centerofmass subtreecom getcenterofmassposition
        calccenterofmasspositioninworld""",
    "robot.kinetic_energy(q, dq)": "computekineticenergy calckineticenergy",
    "robot.potential_energy(q)": "computepotentialenergy calcpotentialenergy",
    "robot.momentum(q, dq)": "calcspatialmomentuminworldaboutpoint spatialmomentum",
    "robot.centroidal_momentum(q, dq)": "hg computecentroidalmomentum",
    "robot.centroidal_momentum_matrix(q), angular rows first": """ccrba ag
        centroidalmomentummatrix getcentroidaltotalmomentumjacobian""",
    "robot.centroidal_momentum_matrix_rate(q, dq), angular rows first": """dccrba dag
        computecentroidalmomentumtimevariation""",
    "robot.center_of_mass_jacobian(q)": """jacobiancenterofmass comjacobian jcom
        getcenterofmassjacobian mjjacsubtreecom calcjacobiancenterofmasstranslationalvelocity""",
    "robot.inverse_mass_matrix(q)": "computeminverse minv massmatrixinverse",
    "robot.frame_velocity(q, dq, frame)": """getframevelocity getlinkvelocity framevelocity
        calcpointvelocity6d evalbodyspatialvelocityinworld""",
    "robot.frame_acceleration(q, dq, ddq, frame)": """getframeacceleration
        getframeclassicalacceleration calcpointacceleration6d frameacceleration""",
    "robot.task_space(q, dq, frame=frame)": "operationalspace lambdamatrix taskinertia",
    "robot.regressor(q, dq, ddq)": "computejointtorqueregressor inversedynamicsregressor",
    "robot.inverse_dynamics_derivatives(q, dq, ddq)": "computerneaderivatives",
    "robot.forward_dynamics_derivatives(q, dq, tau)": "computeabaderivatives mjdtransitionfd",
    "robot.simulate(q0, duration=1.0)": "step fdyn mjstep stepsimulation simulator rollout",
    "kt.load(path)": """loadurdf loadmjcf loadsdf loadmodel loadxml urdf fromurdf mjmodel
        fromxmlpath buildmodelfromurdf buildmodelfrommjcf urdfreadfromfile robotwrapper erobot
        rtb modelloader multibodyplant addmodels kindyncomputations loadrobotdescription""",
    "kt.Robot.from_dh(table, m=, com=, I_com=)": "dhrobot dh fromdhtable",
    "[joint.limits for joint in robot.model.joints]": """qlim lowerpositionlimit upperpositionlimit
        jntrange jointlimits limits""",
    "robot.n": """nv ndof ndofs dof dofs njoints numjoints getnumjoints numvelocities dofcount
        qdotsize getnrofjoints getnrofdegreesoffreedom""",
    "robot.nq": "nq numpositions qsize",
    "robot.joint_names": "names jointnames getjointnames actuatedjoints joints",
    "robot.model.link_names": "links linknames bodynames nlinks getlinknames",
    "robot.model.frames": "frames framenames getframeid getbodyid",
    "robot.model.m": "masses mass bodymass",
    "robot.neutral()": "q0 qz qpos0 neutralconfiguration home",
    "robot.random()": "randomconfiguration randomq",
    "robot.with_payload(m, com)": "payload setpayload",
    "robot.with_gravity(g)": "setgravity",
    "robot.with_tool(name, at)": "tool settool",
    "robot.check(trajectory)": "checklimits",
    "kinetree view on the command line, or kt.views.report_page(robot)": """show plot teach display
        visualize view""",
    "kt.export(robot, folder)": "export codegen generatecode",
    "kt.symbolic(robot)": "symbolic equations",
    "an argument (q, dq, tau); a robot stores no state": """q qd qdd dq ddq tau qpos qvel ctrl data
        createdata mjdata getjointstate setstate""",
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
        if plain in others.lower().split() or f"robot.{name}(" in ours:
            return ours
    return None
