"""MuJoCo from Python, one state at a time, with constraints, contacts and sensors switched off."""

import functools
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from benchmarks.peers import Absent
from benchmarks.peers.loops import loop_job, reorder, restore
from benchmarks.robots import Arrays, Case
from benchmarks.timing import Job

OFF = ("CONSTRAINT", "CONTACT", "SENSOR", "ACTUATION", "LIMIT", "EQUALITY", "FRICTIONLOSS")
HEADER = '<mujoco><compiler balanceinertia="true" discardvisual="true" strippath="false"/></mujoco>'


@functools.cache
def model_of(case: Case) -> tuple[Any, Any, np.ndarray]:
    """MuJoCo's model and data, and the columns of its joints.

    MuJoCo refuses inertias that no body can have and balances them on request, so the file's own
    numbers are put back afterwards.
    """
    text = case.text.replace("</robot>", f"{HEADER}</robot>")
    model = mujoco.MjModel.from_xml_string(text)
    if model.nv != case.model.n:
        raise Absent(f"reads {model.nv} joints, expected {case.model.n}")
    for name in OFF:
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0))
    joints = [model.joint(j).name for j in range(model.nv)]
    columns = case.columns(joints)
    for j, i in enumerate(columns):
        put_body(model, int(model.jnt_bodyid[j]), case, int(i))
    data = mujoco.MjData(model)
    mujoco.mj_setConst(model, data)
    return model, data, columns


@functools.cache
def servo_model_of(case: Case, kp: float, kd: float) -> tuple[Any, Any, np.ndarray]:
    """The same with a position servo at every joint, in MuJoCo's order of joints."""
    plain, _, columns = model_of(case)
    spec = mujoco.MjSpec.from_string(case.text.replace("</robot>", f"{HEADER}</robot>"))
    for j in range(plain.nv):
        servo = spec.add_actuator(
            name=f"servo {j}",
            target=plain.joint(j).name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        )
        servo.gainprm[0], servo.biasprm[1], servo.biasprm[2] = kp, -kp, -kd
    model = spec.compile()
    acting = int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    model.opt.disableflags = plain.opt.disableflags & ~acting
    model.jnt_actfrclimited[:] = 0  # the limits of the URDF, which a step does not apply
    put_bodies(model, plain)
    return model, mujoco.MjData(model), columns


@functools.cache
def posed_model_of(case: Case, body: str, dt: float) -> tuple[Any, np.ndarray]:
    """MuJoCo's model for steps of dt with sensors of a body's position and quaternion."""
    plain, _, columns = model_of(case)
    spec = mujoco.MjSpec.from_string(case.text.replace("</robot>", f"{HEADER}</robot>"))
    for kind in ("FRAMEPOS", "FRAMEQUAT"):
        spec.add_sensor(
            type=getattr(mujoco.mjtSensor, f"mjSENS_{kind}"),
            objtype=mujoco.mjtObj.mjOBJ_XBODY,
            objname=body,
        )
    model = spec.compile()
    sensing = int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    model.opt.disableflags = plain.opt.disableflags & ~sensing
    model.opt.timestep = dt
    put_bodies(model, plain)
    return model, columns


def put_bodies(model: Any, plain: Any) -> None:
    """The inertias of a model that has the same bodies."""
    for name in ("mass", "ipos", "iquat", "inertia", "sameframe"):
        getattr(model, f"body_{name}")[:] = getattr(plain, f"body_{name}")
    mujoco.mj_setConst(model, mujoco.MjData(model))


def put_body(model: Any, body: int, case: Case, i: int) -> None:
    """Mass, centre and principal inertias of link i, as kinetree has them in the link's frame."""
    moments, axes = np.linalg.eigh(case.model.I_com[i])
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(axes).ravel())
    model.body_mass[body] = case.model.m[i]
    model.body_ipos[body] = case.model.com[i]
    model.body_iquat[body] = quaternion
    model.body_inertia[body] = moments
    model.body_sameframe[body] = 0


def function_of(case: Case, quantity: str) -> Callable[..., np.ndarray]:
    """The quantity at one state: set the state, call MuJoCo, look at the result."""
    model, data, _ = model_of(case)
    full = np.zeros((model.nv, model.nv))
    qpos, qvel, qacc, force = data.qpos, data.qvel, data.qacc, data.qfrc_applied
    found_tau = data.qfrc_inverse

    def inverse_dynamics(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
        qpos[:], qvel[:], qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        return found_tau

    def forward_dynamics(q: np.ndarray, dq: np.ndarray, tau: np.ndarray) -> np.ndarray:
        qpos[:], qvel[:], force[:] = q, dq, tau
        mujoco.mj_forward(model, data)
        return qacc

    def mass_matrix(q: np.ndarray) -> np.ndarray:
        qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        assemble(model, data)
        full_matrix(model, data, full)
        return full

    return locals()[quantity]


def assemble(model: Any, data: Any) -> None:
    """Composite inertias into MuJoCo's sparse matrix, under the name that this version has."""
    getattr(mujoco, "mj_makeM", mujoco.mj_crb)(model, data)


def full_matrix(model: Any, data: Any, full: np.ndarray) -> None:
    """All entries of the mass matrix; the arguments changed between versions."""
    try:
        mujoco.mj_fullM(model, data, full)
    except TypeError:
        mujoco.mj_fullM(model, full, data.qM)


def batch(case: Case, quantity: str, states: Arrays, threads: int) -> dict[str, Job]:
    """A Python loop; MuJoCo's own threads step simulations, not these quantities."""
    if threads > 1:
        raise Absent("no threads for single quantities")
    columns = model_of(case)[2]
    return {"MuJoCo, Python loop": loop_job(function_of(case, quantity), quantity, states, columns)}


def single(case: Case, quantity: str, state: Arrays) -> dict[str, Job]:
    """One state: set it, call, copy nothing."""
    columns = model_of(case)[2]
    function, own = function_of(case, quantity), reorder(state, columns)
    names = {"run": function, **dict(zip("abc", own, strict=False))}
    statement = f"run({', '.join('abc'[: len(own)])})"
    return {"MuJoCo": Job(statement, names, lambda: restore(function(*own), quantity, columns))}
