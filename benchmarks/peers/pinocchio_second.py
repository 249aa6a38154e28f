"""Pinocchio's second derivatives of inverse dynamics, which only its C++ headers have.

`pinocchio_second.cpp` is compiled by g++ -O3 -march=native against the headers of the wheels of
Pinocchio, Boost and (for Eigen) CasADi: about 50 s. Its model has the joints, places and inertias
that Pinocchio reads from the URDF file.
"""

import ctypes
import functools
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from benchmarks.peers import Absent
from benchmarks.peers.labels import CPP, CPP_COPIES
from benchmarks.robots import Arrays, Case, scratch
from benchmarks.timing import Job
from kinetree.files.convert import to_pinocchio

SOURCE = Path(__file__).with_name("pinocchio_second.cpp")
# Pinocchio's own definitions for its users: room for all of its joint types in lists of Boost
DEFINED = (
    "NDEBUG",
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
FLAGS = ("-std=c++17", "-O3", "-march=native", "-fPIC", "-shared", *(f"-D{x}" for x in DEFINED))
SECONDS = 300  # for g++
TURNS, SLIDES, FREE = range(3)
TENSORS = 3  # by q q, q dq and dq dq


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled program."""
    if shutil.which("g++") is None:
        raise Absent("no g++ here, so Pinocchio's C++ is not measured")
    folders = {"pin": "cmeel.prefix/include", "casadi": "casadi/include/eigen3"}
    headers = [f"-I{distribution(name).locate_file(x)}" for name, x in folders.items()]
    made = scratch() / "pinocchio_second.so"
    command = ["g++", *FLAGS, *headers, str(SOURCE), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise Absent(f"g++ does not compile Pinocchio's headers: {(errors or ['?'])[0][:200]}")
    found = ctypes.CDLL(str(made))
    array, whole = np.ctypeslib.ndpointer(float, flags="C"), np.ctypeslib.ndpointer(np.int32)
    found.robot_of.restype = ctypes.c_void_p
    found.robot_of.argtypes = [ctypes.c_int, whole, whole, array, array]
    pointers = [ctypes.c_void_p, ctypes.c_int, array, array, array, ctypes.c_void_p]
    found.second_derivatives.restype = None
    found.second_derivatives.argtypes = pointers
    return found


def tensor_jobs(case: Case, states: Arrays) -> dict[str, Job]:
    """All tensors, left where Pinocchio has them or copied; a result is (3, N, n, n, n)."""
    import pinocchio as pin

    floating = case.model.nq > case.model.n
    model = pin.buildModelFromUrdf(case.urdf, *[pin.JointModelFreeFlyer()] * floating)
    names = list(model.names)[1:]
    if floating:
        names[0] = case.model.joints[0].name
    parents = np.array(model.parents[1:], np.int32)
    kinds, numbers = zip(*(joint_numbers(model, i) for i in range(1, model.njoints)), strict=True)
    gravity = np.array(model.gravity.linear)
    robot = library().robot_of(
        len(names), parents, np.array(kinds, np.int32), np.array(numbers), gravity
    )
    there, (q, dq, ddq) = to_pinocchio(case.model, names), states
    moved = there.q(q), there.dq(q, dq), there.ddq(q, dq, ddq)
    own = [np.ascontiguousarray(x) for x in moved]
    n, count = model.nv, len(q)
    out = np.zeros((count, TENSORS, n, n, n))  # of each tensor: by the second, by the first, tau

    def run(tensors: int | None) -> None:
        library().second_derivatives(robot, count, *own, tensors)

    def result() -> np.ndarray:
        run(out.ctypes.data)
        X = np.argmax(there.dq(np.tile(q[0], (n, 1)), np.eye(n)), axis=0)  # of ours in its rates
        back = np.argsort(X)
        theirs = out.transpose(1, 0, 4, 3, 2)  # tau, by the first, by the second
        return theirs[:, :, back][:, :, :, back][..., back]

    return {
        CPP: Job("run(None)", {"run": run}, result),
        CPP_COPIES: Job("run(address)", {"run": run, "address": out.ctypes.data}, result),
    }


def joint_numbers(model, i: int) -> tuple[int, np.ndarray]:  # a model of Pinocchio
    """The kind of a joint, and the numbers of it and its body in the order of the C++ program."""
    joint, place, body = model.joints[i], model.jointPlacements[i], model.inertias[i]
    name = joint.shortname()
    axis = np.zeros(3)
    if name == "JointModelFreeFlyer":
        kind = FREE
    elif name.startswith(("JointModelR", "JointModelP")) and "Unbounded" not in name:
        kind = SLIDES if name.startswith("JointModelP") else TURNS
        unaligned = name.endswith("Unaligned")
        axis = np.array(joint.extract().axis) if unaligned else np.eye(3)["XYZ".index(name[-1])]
    else:
        raise Absent(f"{name} is not in the C++ program")
    mass = [body.mass, *body.lever, *body.inertia.ravel()]
    return kind, np.array([*axis, *place.rotation.ravel(), *place.translation, *mass])
