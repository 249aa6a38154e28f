"""Calls: what a call costs beside its kernel, by the number of states and the kind of array.

The kernel alone is its loop over states in machine code, called with addresses. torch and JAX are
imported where they are installed: they change how the process gets its memory.
"""

import ctypes
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.robots import Case, load, states
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, Timing, one_core, side_by_side
from kinetree.engine.kernels.step import step_name

QUANTITY = "inverse_dynamics"
SIZES = (1, 16, 256, 4096, 65_536, 1_000_000)
ALONE = "the kernel alone"
PLAIN = "a plain call of the same kernel"
NOTHING = "an empty loop"
ONE = "calls, one state"
DIRECT = ("new array", "out=", "strided", "float32")
KINDS = (*DIRECT, "torch", "JAX")


@dataclass(frozen=True)
class Kind:
    """A statement with its names, and the arrays that the kernel alone reads and writes."""

    label: str
    statement: str
    names: dict[str, Any]
    arrays: Sequence[np.ndarray]
    apart: bool = False


def question(kind: str) -> str:
    """The name of the question in rows."""
    return f"calls, {kind}"


def quantity(count: int) -> str:
    """The name of the quantity in rows."""
    return f"{QUANTITY}, {count} states"


def ask(robot: str, effort: Effort) -> Answer:
    """Every kind of array at every size on one core; then one state in other ways."""
    answer, case = Answer(), load(robot)
    effort = replace(effort, repeats=min(effort.repeats, 10))
    packages = {name: package(answer, name) for name in ("torch", "jax")}
    kt.kernels.threads(1)
    with one_core():
        for count in SIZES:
            for kind in kinds(case, count, packages):
                timings = compare(case, kind, count, effort)
                name = question(kind.label)
                answer.rows += timing_rows(name, robot, quantity(count), timings, count)
        answer.rows += one_state(case, effort)
    return answer


def package(answer: Answer, name: str) -> Any:
    """Return a package of tensors, None with a note where it is not installed."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        answer.notes.append(f"{name}: not installed")
        return None
    answer.notes.append(f"{name} {found.__version__} was imported")
    return found


def kinds(case: Case, count: int, packages: dict[str, Any]) -> Iterator[Kind]:
    """The ways to give `count` states."""
    f = getattr(case.robot, QUANTITY)
    given = states(case, QUANTITY, count)
    out = np.empty_like(given[0])
    names = {"f": f, "x": given[0], "y": given[1], "z": given[2], "out": out}
    call = "f(x, y, z)"
    yield Kind("new array", call, names, (*given, out))
    yield Kind("out=", "f(x, y, z, out=out)", names, (*given, out))
    apart = [np.repeat(x, 2, axis=0)[::2] for x in given]
    yield Kind("strided", call, {"f": f, **dict(zip("xyz", apart, strict=True))}, (*apart, out))
    narrow = [x.astype(np.float32) for x in given]
    short = {"f": f, **dict(zip("xyz", narrow, strict=True))}
    yield Kind("float32", call, short, (*narrow, out.astype(np.float32)))
    if (torch := packages["torch"]) is not None:
        torch.set_num_threads(1)
        tensors = {"f": f, **{k: torch.from_numpy(x) for k, x in zip("xyz", given, strict=True)}}
        yield Kind("torch", call, tensors, (*given, out))
    if (jax := packages["jax"]) is not None and jax.config.jax_enable_x64:
        made = [jax.numpy.asarray(x) for x in given]
        mapped = {"f": jax.jit(lambda *x: f(*x)), **dict(zip("xyz", made, strict=True))}
        yield Kind("JAX", f"{call}.block_until_ready()", mapped, (*given, out), apart=True)


def compare(case: Case, kind: Kind, count: int, effort: Effort) -> dict[str, Timing]:
    """Time a call and the kernel alone, a state each; the call of the latter is subtracted."""
    kernel = getattr(case.robot, QUANTITY)
    dtype = str(kind.arrays[0].dtype)
    loop = kernel._dispatch.loop(dtype)
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    code = signature(loop.address)
    addresses = (ctypes.c_void_p * len(kind.arrays))(*(x.ctypes.data for x in kind.arrays))
    outer = [x.strides[0] if len(x) > 1 else 0 for x in kind.arrays]
    inner = [stride for x in kind.arrays for stride in x.strides[1:]]
    steps = (ctypes.c_ssize_t * (len(outer) + len(inner)))(*outer, *inner)
    some, none = ctypes.c_ssize_t(count), ctypes.c_ssize_t(0)
    known = {"code": code, "keep": (loop, kind.arrays)}
    for name, x in (("at", addresses), ("steps", steps), ("some", some), ("none", none)):
        known[name] = ctypes.byref(x)
    jobs = {
        "kinetree": Job(kind.statement, kind.names, lambda: None, kind.apart),
        ALONE: Job("code(at, some, steps, None)", known, lambda: None),
        NOTHING: Job("code(at, none, steps, None)", known, lambda: None),
    }
    found = side_by_side(jobs, effort, count)
    empty = found.pop(NOTHING)
    found[ALONE] = without(found[ALONE], empty)
    return found


def without(timing: Timing, empty: Timing) -> Timing:
    """A timing less the best of another."""
    seconds = tuple(max(s - empty.best, 1e-12) for s in timing.seconds)
    return Timing(seconds, tuple(max(s - (empty.best_cpu or 0), 1e-12) for s in timing.cpu))


def one_state(case: Case, effort: Effort) -> list[Any]:
    """One state in other ways, each beside a plain call of the same kernel."""
    robot, rows = case.robot, list[Any]()
    q, dq, tau = states(case, QUANTITY, None)
    frame, F = case.model.link_names[-1], np.zeros((len(case.model.links), 6))
    names: dict[str, Any] = {"robot": robot, "q": q, "dq": dq, "tau": tau, "F": F, "frame": frame}
    names |= {"f": robot.inverse_dynamics, "out": np.empty_like(q)}
    names |= {f"{k}4": x.astype(np.float32) for k, x in (("q", q), ("dq", dq), ("tau", tau))}
    names |= {f"{k}1": x[None] for k, x in (("q", q), ("dq", dq), ("tau", tau))}
    names |= {f"{k}s": x.tolist() for k, x in (("q", q), ("dq", dq), ("tau", tau))}
    by_joint = (("q", q), ("dq", dq), ("tau", tau))
    names |= {f"{k}d": dict(zip(robot.dof_names, x, strict=True)) for k, x in by_joint}
    names |= {"loaded": robot.compile(QUANTITY, wrenches=True)}
    names |= {"pose": robot.compile("pose", frame=frame)}
    names |= {"jacobian": robot.compile("body_jacobian", frame=frame)}
    names |= {"slopes": robot.forward_dynamics_derivatives}
    names |= {"step": robot.compile(step_name("semi_implicit_euler"))}
    plain = "f(q, dq, tau)"
    for label, statement, beside in (
        ("out=", "f(q, dq, tau, out=out)", plain),
        ("float32", "f(q4, dq4, tau4)", plain),
        ("shape (1, n)", "f(q1, dq1, tau1)", plain),
        ("lists", "f(qs, dqs, taus)", plain),
        ("dicts by joint", "f(qd, dqd, taud)", plain),
        ("F_ext", "f(q, dq, tau, F)", "loaded(q, dq, tau, F)"),
        ("F_ext by name", "f(q, dq, tau, F_ext=F)", "loaded(q, dq, tau, F)"),
        ("pose of a frame", "robot.pose(q, frame)", "pose(q)"),
        ("Jacobian of a frame", "robot.body_jacobian(q, frame)", "jacobian(q)"),
        ("linearize", "robot.linearize(q, dq, tau)", "slopes(q, dq, tau)"),
        ("step", "robot.step(q, dq, tau, 0.001)", "step(q, dq, tau, 0.001)"),
    ):
        jobs = {
            "kinetree": Job(statement, names, lambda: None),
            PLAIN: Job(beside, names, lambda: None),
        }
        rows += timing_rows(ONE, case.key, label, side_by_side(jobs, effort))
    return rows
