"""Steps with contacts: quadruped and humanoid on a plane, held by servos, beside MuJoCo's rollout.

Contacts of points with ground; no meshes. Both have the same feet, servos, friction, time step and
start, 5 mm above the ground. MuJoCo's contacts give way by its default compliance and its solver
ends at its own tolerance; ours are rigid, and every record says with what residual.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.questions.step import each
from benchmarks.robots import Source, data_file
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree.contacts import ContactPoint
from kinetree.dynamics.joints.configuration import start_position
from kinetree.dynamics.joints.friction import frictionless

COUNT = 4096
ROLLED_OUT = 256  # of these by MuJoCo, whose time for one does not depend on their number
DT, STEPS = 0.002, 100
FRICTION = 0.8
AGREEMENT = 0.02  # m, of the median base, because MuJoCo's feet sink in
NOTE = "contacts of points with ground; no meshes"
SOLES = [(x, y, -0.03) for x, y in ((-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03))]
FILES = {
    "go1": Source("go1_description/urdf/go1.urdf", "Go1 18"),
    "g1": Source("g1_description/urdf/g1_29dof_rev_1_0.urdf", "G1 35"),
}
GAINS = {"go1": (60.0, 2.0), "g1": (150.0, 5.0)}
POSE = {"thigh": 0.8, "calf": -1.6}  # of the joints with these words in their names


def feet(name: str) -> list[ContactPoint]:
    """Spheres under the shins of Go1, and four at the corners of each sole of G1."""
    if name == "go1":
        return [
            ContactPoint(x, x, radius=0.02) for x in ("FR_foot", "FL_foot", "RR_foot", "RL_foot")
        ]
    return [
        ContactPoint(f"{side} {k}", f"{side}_ankle_roll_link", position=p, radius=0.005)
        for side in ("left", "right")
        for k, p in enumerate(SOLES)
    ]


def ask(robot: str, effort: Effort) -> Answer:
    """All environments for STEPS steps in one call, on one core."""
    answer = Answer(notes=[f"contact: {NOTE}"])
    loaded = kt.Robot(frictionless(kt.load(data_file(FILES[robot]), floating=True).model))
    kp, kd = GAINS[robot]
    servos = {x: kt.joints.Actuator.position(x, kp, kd) for x in loaded.joint_names[1:]}
    held = loaded.with_contacts(feet(robot), friction=FRICTION).with_actuators(servos)
    q, u = starts(held)
    options: dict[str, Any] = {
        "duration": STEPS * DT, "dt": DT, "method": "implicitfast", "limits": "ignore",
        "controls": u,
    }  # fmt: skip
    with one_core():
        kt.kernels.threads(1)
        motion = held.simulate(q, **options)
        residual = np.asarray(motion.meta["contact_residual"])
        answer.notes.append(
            f"{robot}: residual {residual.max():.1e} at most, above 1e-8 in "
            f"{(residual > 1e-8).mean():.1%} of the steps"
        )
        names = {"robot": held, "q": q, "options": options}
        jobs = {"kinetree": Job("robot.simulate(q, **options)", names, lambda: None)}
        try:
            some = q[:ROLLED_OUT], u, motion.q[-1, :ROLLED_OUT]
            jobs["MuJoCo rollout"] = rollout_job(loaded, robot, *some)
        except ImportError as problem:
            answer.notes.append(f"MuJoCo: not installed ({problem.name or problem})")
        except ValueError as reason:
            answer.notes.append(f"MuJoCo: {reason}")
        fewer = replace(effort, repeats=min(effort.repeats, 3))
        found = side_by_side(jobs, fewer, STEPS)
        timings = {
            who: each(x, COUNT if who == "kinetree" else ROLLED_OUT) for who, x in found.items()
        }
        answer.rows += timing_rows(
            "contact", FILES[robot].title, "step with servos", timings, COUNT
        )
    return answer


def starts(robot: kt.Robot) -> tuple[np.ndarray, np.ndarray]:
    """Positions near a stance, (COUNT, nq), and the controls that hold it."""
    q = np.array(start_position(robot.model), float)
    for joint in robot.model.joints:
        for word, angle in POSE.items():
            if word in joint.name:
                q[list(joint.coords)] = angle
    many = np.tile(q, (COUNT, 1))
    many[:, 7:] += 0.05 * np.random.default_rng(0).normal(size=(COUNT, len(q) - 7))
    return np.array([kt.contacts.on_ground(robot, x, 0.005) for x in many]), q[7:]


def rollout_job(robot: kt.Robot, name: str, q: np.ndarray, u: np.ndarray, end: np.ndarray) -> Job:
    """The same in MuJoCo; ValueError if its robots are elsewhere at the end."""
    import mujoco
    from mujoco import rollout

    model = mujoco_model(robot, name)
    data = mujoco.MjData(model)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = np.zeros((len(q), mujoco.mj_stateSize(model, kind)))
    places = {x.name: model.joint(x.name).qposadr[0] for x in robot.model.joints[1:]}
    for k, position in enumerate(q):
        data.qpos[:7] = [*position[4:7], *position[:4]]
        for joint in robot.model.joints[1:]:
            data.qpos[places[joint.name]] = position[joint.coords[0]]
        mujoco.mj_getState(model, data, states[k], kind)
    order = [robot.joint_names.index(model.actuator(k).name) - 1 for k in range(model.nu)]
    controls = np.tile(u[order], (len(q), STEPS, 1))
    found, _ = rollout.rollout(model, data, states, controls)
    apart = float(np.median(np.linalg.norm(found[:, -1, 1:4] - end[:, 4:7], axis=1)))
    if apart > AGREEMENT:
        raise ValueError(f"its base ends {apart:.3f} m apart")
    names = {"rollout": rollout.rollout, "x": (model, data, states, controls)}
    return Job("rollout(*x)", names, lambda: None)


def mujoco_model(robot: kt.Robot, name: str) -> Any:
    """The robot as MJCF, with the feet, the floor and the servos."""
    import mujoco

    spec = mujoco.MjSpec.from_string(kt.convert.to_mjcf(robot, losses="allow"))
    rough = {"friction": [FRICTION, 0.005, 0.0001], "condim": 3}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **rough)
    for foot in feet(name):
        frame = robot.model.frames[foot.link]
        at = frame.T_if[:3, :3] @ np.array(foot.position, float) + frame.T_if[:3, 3]
        spec.body(robot.model.link_names[frame.link]).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[foot.radius, 0, 0], pos=at, mass=0, **rough
        )
    kp, kd = GAINS[name]
    for joint in robot.joint_names[1:]:
        servo = spec.add_actuator(
            name=joint,
            target=joint,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        )
        servo.gainprm[0], servo.biasprm[1], servo.biasprm[2] = kp, -kp, -kd
    spec.option.timestep, spec.option.cone = DT, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return spec.compile()
