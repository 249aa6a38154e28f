"""Make robot_values.json: dynamics of the built-in robots by Pinocchio, of the URDF they write.

    python tests/references/robot_values.py

URDF has no gravity and no armature: Pinocchio is given the robot's gravity, and armature and rotors
are added to its joint forces. Numbers are in the order of the robot's joints.
"""

import json
import warnings

import numpy as np
from robot_files import HERE, bare, limits_of, random_state

import kinetree as kt
from kinetree import dynamics


def values(pin, name):
    """One state of a robot, and what Pinocchio makes of it."""
    robot = bare(getattr(kt.robots, name)())
    theirs = pin.buildModelFromXML(kt.convert.to_urdf(robot, losses="allow"), mimic=True)
    theirs.gravity = pin.Motion(np.array(robot.model.gravity[3:], float), np.zeros(3))
    names = [x for x in theirs.names[1:] if x in robot.joint_names]
    there, back = (f(robot, names) for f in (kt.convert.to_pinocchio, kt.convert.from_pinocchio))
    q, dq, ddq = random_state(robot, 7)
    data, their_q = theirs.createData(), there.q(q)
    state = their_q, there.dq(q, dq), there.ddq(q, dq, ddq)
    M = pin.crba(theirs, data, their_q)
    M = back.mass_matrix(their_q, np.triu(M) + np.triu(M, 1).T)
    tau = back.tau(their_q, pin.rnea(theirs, data, *state))
    g = back.tau(their_q, pin.computeGeneralizedGravity(theirs, data, their_q))
    armature = np.diag(dynamics.mass_matrix(robot.model, q) - M)
    pin.framesForwardKinematics(theirs, data, their_q)
    poses = {
        x: data.oMf[theirs.getFrameId(x, pin.FrameType.BODY)].homogeneous.tolist()
        for x in robot.model.frames
    }
    limits = {x: [*map(str, vars(y).values())] for x, y in limits_of(robot).items()}
    arrays = {"q": q, "dq": dq, "ddq": ddq, "tau": tau + armature * ddq, "g": g, "M": M}
    return {
        "name": name, "coordinates": robot.coordinate_names, "dofs": robot.dof_names,
        "limits": limits, "armature": np.where(np.abs(armature) > 1e-9, armature, 0).tolist(),
        "poses": poses, **{key: x.tolist() for key, x in arrays.items()},
    }  # fmt: skip


def main():
    """Write the file."""
    import pinocchio as pin

    warnings.simplefilter("ignore")
    robots = [values(pin, name) for name in kt.robots.TREES]
    closed = {
        x: kt.constraints.mobility(getattr(kt.robots, x)()).degrees_of_freedom
        for x in kt.robots.MECHANISMS
    }
    found = {"peer": f"Pinocchio {pin.__version__}", "mobility": closed, "robots": robots}
    text = json.dumps(found).replace('{"name"', '\n{"name"')
    (HERE / "robot_values.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
