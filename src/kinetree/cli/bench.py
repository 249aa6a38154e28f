"""`kinetree bench`: times of a robot's kernels, of the plain algorithms, and of other libraries."""

import os
import platform
import tempfile
import time
import timeit
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from kinetree import algorithms
from kinetree.backends.kernel import llvm_problem
from kinetree.base.arrays import Array
from kinetree.base.tables import counted, number
from kinetree.cli.arguments import AS_IT_IS, Json, Reading, RobotName, option, whole_numbers
from kinetree.cli.choices import find_robot
from kinetree.cli.output import print_json
from kinetree.cli.tables import Terminal, console, screen_table
from kinetree.description.joints import REVOLUTE
from kinetree.errors import InputError, KinetreeError, KinetreeWarning
from kinetree.model import Joint
from kinetree.model.constrain import without_constraints
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.backends.cuda.kernel import CudaKernel
    from kinetree.backends.kernel import Kernel

MEASURED = {
    "inverse_dynamics": ("q", "dq", "ddq"),
    "forward_dynamics": ("q", "dq", "tau"),
    "mass_matrix": ("q",),
}
REPEATS, LEAST = 7, 0.01  # repeats, and the least seconds of one
AGREEMENT = 1e-8  # largest relative difference with which another library is timed

Calls = dict[str, Callable[..., Array]]  # functions of one state by quantity


def bench(
    robot: RobotName = "panda",
    /,
    *,
    batch: Annotated[
        list[int] | None,
        Parameter(
            consume_multiple=1,
            negative=(),
            metavar="NUMBER...",
            help="States in a call; 64 and 4096 if left out.",
            converter=whole_numbers,
        ),
    ] = None,
    peers: Annotated[
        bool,
        option(
            "--peers",
            "Time Pinocchio and MuJoCo as well, if they are installed; --no-peers does not.",
            negative="--no-peers",
        ),
    ] = True,
    json: Json = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Measure nanoseconds per state of inverse dynamics, forward dynamics and M, on one thread.

    Compares the compiled kernel, in calls of one state and of batches, the textbook form that it
    was traced from, and other libraries called from Python, one state a call. Compile: without the
    cache; load: from the cache on disk. Times are the best of several repeats; a busy machine gives
    larger numbers. Another library is timed only if its results agree. JSON has robot, n, machine,
    quantities (each with operations, compile and load in s, kernel, direct and peers in ns per
    state), notes.

    For example:

    ```
    kinetree bench planar_2r --batch 1000
    kinetree bench ur5e --no-peers --json
    ```
    """
    sizes = batch or [64, 4096]
    if min(sizes) < 1 or max(sizes) > 1 << 20:
        raise InputError(f"--batch is {sizes}; expected numbers from 1 to {1 << 20}.")
    chosen = find_robot(robot, reading)
    without_constraints(chosen.model, "kinetree bench")  # it compares with methods for trees
    found = measure(chosen, sizes, peers)
    if json:
        print_json(found)
    else:
        print_speed(found)


def measure(robot: Robot, sizes: Sequence[int], peers: bool) -> dict[str, Any]:
    """Measure all times of a robot, as plain data."""
    from kinetree.backends.call.threads import threads

    states = random_states(robot, max(sizes))
    found: dict[str, Any] = {}
    notes: list[str] = []
    if llvm_problem() is not None:
        notes.append("llvmlite is not installed: kernels are interpreted and not compiled.")
    calls = peer_calls(robot, notes) if peers else {}
    with threads(1), Terminal(stderr=True).status("timing") as status:
        for quantity, letters in MEASURED.items():
            status.update(f"timing {quantity.replace('_', ' ')}")
            inputs = [states[x] for x in letters]
            made, kernel = compile_times(robot, quantity)
            one = [x[0] for x in inputs]
            direct = partial(getattr(algorithms, quantity), robot.model)
            found[quantity] = {
                "operations": kernel.operations,
                **made,
                "kernel": {"1": nanoseconds(kernel, one)} | batches(kernel, inputs, sizes),
                "direct": nanoseconds(direct, one),
                "peers": time_peers(calls, quantity, kernel, inputs, notes),
            }
    return {
        "robot": robot.name,
        "n": robot.n,
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "quantities": found,
        "notes": notes,
    }


def random_states(robot: Robot, count: int) -> dict[str, Array]:
    """States within the limits, the same ones every time."""
    rng = np.random.default_rng(0)
    some = [robot.random(rng) for _ in range(min(count, 256))]
    q = np.array(some, float)[np.arange(count) % len(some)]
    rates = {x: rng.normal(size=(count, robot.n)) for x in ("dq", "ddq", "tau")}
    return {"q": q} | rates


def compile_times(robot: Robot, quantity: str) -> "tuple[dict[str, float], Kernel | CudaKernel]":
    """Seconds to make the kernel with an empty and with a filled cache on disk; the kernel."""
    from kinetree.kernels.compile import compile_kernel

    names = ("KINETREE_CACHE_DIR", "KINETREE_CACHE", "KINETREE_BACKGROUND")
    before = {x: os.environ.get(x) for x in names}
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"KINETREE_CACHE_DIR": os.path.join(folder, "cache"), "KINETREE_CACHE": "1"}
        os.environ["KINETREE_BACKGROUND"] = "0"  # the kernel is timed, not what answers before it
        try:
            start = time.perf_counter()
            compile_kernel(robot.model, quantity)
            between = time.perf_counter()
            kernel = compile_kernel(robot.model, quantity)
            end = time.perf_counter()
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                os.environ |= {} if value is None else {name: value}
    return {"compile": between - start, "load": end - between}, kernel


def batches(
    kernel: Callable[..., Any], inputs: Sequence[Array], sizes: Sequence[int]
) -> dict[str, float]:
    """Nanoseconds per state in calls of several states."""
    chosen = [size for size in dict.fromkeys(sizes) if size > 1]
    return {str(k): nanoseconds(kernel, [x[:k] for x in inputs]) / k for k in chosen}


def nanoseconds(function: Callable[..., Any], arguments: Sequence[Array]) -> float:
    """Time of one call: the best of several repeats, each long enough for the clock."""
    names = {"f": function} | {f"x{k}": x for k, x in enumerate(arguments)}
    timer = timeit.Timer(f"f({', '.join(list(names)[1:])})", globals=names)
    timer.timeit(1)
    count, taken = 1, timer.timeit(1)
    while taken < LEAST and count < 1 << 24:
        count = max(2 * count, int(count * LEAST / max(taken, 1e-9)))
        taken = timer.timeit(count)
    return min(taken, *timer.repeat(REPEATS - 1, count)) / count * 1e9


def time_peers(
    calls: dict[str, Calls],
    quantity: str,
    kernel: Callable[..., Any],
    inputs: Sequence[Array],
    notes: list[str],
) -> dict[str, float]:
    """Nanoseconds of one state for every library whose results agree with the kernel's."""
    found: dict[str, float] = {}
    own = kernel(*(x[:4] for x in inputs))
    for name, functions in calls.items():
        function = functions[quantity]
        try:
            theirs = [np.array(function(*x)) for x in zip(*(y[:4] for y in inputs), strict=True)]
        except (ValueError, TypeError, RuntimeError) as error:
            notes.append(f"{name}: {quantity} fails: {first_line(error)}")
            continue
        off = float(np.abs(own - theirs).max() / (np.abs(own).max() or 1))  # no mass, no forces
        if off > AGREEMENT:
            notes.append(f"{name}: {quantity} differs by {off:.1e}, so it is not timed.")
        else:
            found[name] = nanoseconds(function, [x[0] for x in inputs])
    return found


def print_speed(found: dict[str, Any]) -> None:
    """Print a column for every quantity, a row for every way to compute it."""
    columns = list(found["quantities"].values())
    sizes = list(columns[0]["kernel"])
    peers = sorted({name for x in columns for name in x["peers"]})
    rows = [["operations", *(str(x["operations"]) for x in columns)]]
    rows += [[f"{x}", *(duration(y[x] * 1e9) for y in columns)] for x in ("compile", "load")]
    for size in sizes:
        label = f"kernel, {counted(int(size), 'state')}"
        rows.append([label, *(duration(x["kernel"][size]) for x in columns)])
    rows.append(["direct form, 1 state", *(duration(x["direct"]) for x in columns)])
    for name in peers:
        rows.append([f"{name}, 1 state", *(duration(x["peers"].get(name)) for x in columns)])
    screen = console()
    size = counted(found["n"], "degree", "of freedom")
    title = f"{found['robot']}, {size}: time per state on one thread"
    heads = ["", *(quantity.replace("_", " ") for quantity in found["quantities"])]
    screen.print(screen_table(title, heads, rows))
    for note in found["notes"]:
        screen.print(f"- {note}")


def duration(ns: float | None) -> str:
    """A time with three digits and its unit."""
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{number(ns / size, 3)} {unit}"
    return f"{number(ns, 3)} ns"


# ----- other libraries, which read the robot from a file written for them


def peer_calls(robot: Robot, notes: list[str]) -> dict[str, Calls]:
    """The functions of every library that is installed and can read the robot.

    For every other library a note with the reason is added to `notes`.
    """
    found: dict[str, Calls] = {}
    for name, make in (("Pinocchio", _pinocchio), ("MuJoCo", _mujoco)):
        try:
            found[name] = make(robot)
        except ImportError:
            notes.append(f"{name} is not installed.")
        except (KinetreeError, ValueError, RuntimeError) as error:
            notes.append(f"{name} cannot take this robot: {first_line(error)}")
    return found


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _for_peers(robot: Robot) -> Robot:
    """The robot with limits on every hinge: without, Pinocchio has two coordinates for it."""

    def bounded(joint: Joint) -> Joint:
        limits = joint.limits
        if joint.type != REVOLUTE or isfinite(limits.lower) or isfinite(limits.upper):
            return joint
        return replace(joint, limits=replace(limits, lower=-1e4, upper=1e4))

    return Robot(robot.model.replace(joints=tuple(map(bounded, robot.model.joints))))


def _columns(robot: Robot, theirs: list[str]) -> list[int]:
    """Positions of the library's joints in our vectors; only for joints with one coordinate."""
    ours = list(robot.model.joint_names)
    if robot.model.n != robot.model.nq or robot.model.n != len(ours):
        raise ValueError("it has joints of several degrees of freedom.")
    if sorted(ours) != sorted(theirs):
        raise ValueError(f"it reads the joints as {', '.join(theirs)}.")
    return [ours.index(name) for name in theirs]


def _pinocchio(robot: Robot) -> Calls:
    pin: Any = import_module("pinocchio")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        model = pin.buildModelFromXML(_for_peers(robot).to_urdf(infinity=1e9))
    model.gravity.linear = np.asarray(robot.model.gravity[3:], float)
    data = model.createData()
    order = _columns(robot, list(model.names)[1:])
    back = np.argsort(order)

    def vectors(function: Callable[..., Array]) -> Callable[..., Array]:
        if order == sorted(order):
            return partial(function, model, data)
        return lambda *x: function(model, data, *(y[order] for y in x))[back]

    def mass_matrix(q: Array) -> Array:
        M = pin.crba(model, data, q[order])
        return M[np.ix_(back, back)]

    return {
        "inverse_dynamics": vectors(pin.rnea),
        "forward_dynamics": vectors(pin.aba),
        "mass_matrix": mass_matrix,
    }


def _mujoco(robot: Robot) -> Calls:
    mujoco: Any = import_module("mujoco")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        model = mujoco.MjModel.from_xml_string(_for_peers(robot).to_mjcf())
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    order = _columns(robot, [model.joint(k).name for k in range(model.njnt)])
    back = np.argsort(order)

    def inverse(q: Array, dq: Array, ddq: Array) -> Array:
        data.qpos[:], data.qvel[:], data.qacc[:] = q[order], dq[order], ddq[order]
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse[back]

    def forward(q: Array, dq: Array, tau: Array) -> Array:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[order], dq[order], tau[order]
        mujoco.mj_forward(model, data)
        return data.qacc[back]

    def mass_matrix(q: Array) -> Array:
        data.qpos[:] = q[order]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, *((M, data.qM) if hasattr(data, "qM") else (data, M)))
        return M[np.ix_(back, back)]

    return {"inverse_dynamics": inverse, "forward_dynamics": forward, "mass_matrix": mass_matrix}
