"""Memory: peak of a batch of every quantity beside its arrays, and of a long day in a workbench.

`python -m benchmarks.memory` measures each quantity of Panda on a million states in a process of
its own, and prints a record. `python -m benchmarks.memory workbench [LOADS]` opens as many
different robots in one workbench, reads and simulates each, and prints memory on the way.
Linux only: the kernel's own count of resident memory is read from /proc.
"""

import base64
import gc
import json
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.machine import describe
from benchmarks.record import table
from kinetree.dynamics.quantities import DECLARED

STATES = 1_000_000
MAX_BYTES = 3e9  # of inputs and outputs; quantities with larger results get fewer states
REQUIRED = 1.2
WARM = 20_000  # states of a first call, which compiles the kernel and starts the threads
STEP, LINEARIZE, SECOND = "step", "linearize", "second derivatives of tau"
# of quantities that every robot has: those of constraints and contacts need others
LEFT_OUT = ("constrain", "reduced_dynamics", "contact_")
LOADS = 500
SIZES = (3, 6, 7, 12, 18, 30)  # joints of the robots of the workbench, in turn


def names() -> list[str]:
    """Quantities of a tree, and what Robot makes of them."""
    plain = [x for x in DECLARED.methods if not x.startswith(LEFT_OUT)]
    return [*plain, "task_space", STEP, LINEARIZE, SECOND]


def resident(field: str) -> int:
    """Bytes of resident memory: VmRSS now, VmHWM the most since `reset`."""
    with open("/proc/self/status") as lines:
        words = next(line for line in lines if line.startswith(field)).split()
    return 1024 * int(words[1])


def reset() -> None:
    """Let VmHWM begin at the present memory."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def arrays(result: Any) -> list[np.ndarray]:
    """The arrays of a result that is one, a tuple or a record of them."""
    if isinstance(result, np.ndarray):
        return [result]
    parts = result if isinstance(result, tuple) else vars(result).values()
    return [x for part in parts if isinstance(part, np.ndarray | tuple) for x in arrays(part)]


def measure(name: str) -> dict[str, float]:
    """Peak memory of one call of a quantity beyond what the process had before its arrays."""
    robot, rng = kt.robots.panda(), np.random.default_rng(4)
    call, count = getattr(robot, name, None), 3
    if name == SECOND:
        call, count = robot.derivative("inverse_dynamics", ("q", "dq"), order=2), 4
    elif name == STEP:
        call = lambda q, dq, tau: robot.step(q, dq, tau, 1e-3)  # noqa: E731
    elif name in DECLARED:
        count = len(DECLARED[name].inputs)
    assert call is not None
    few = [rng.uniform(-1, 1, (WARM, robot.n)) for _ in range(count)]
    found = arrays(call(*few))
    each = sum(x.nbytes for x in (*few, *found)) / len(few[0])
    del few, found
    states = min(STATES, int(MAX_BYTES / each))
    gc.collect()
    before = resident("VmRSS")
    given = [np.empty((states, robot.n)) for _ in range(count)]
    for x in given:
        rng.random(out=x)
    reset()
    results = arrays(call(*given))
    peak = resident("VmHWM") - before
    own = sum(x.nbytes for x in (*given, *results))
    return {"states": states, "bytes": own, "peak": peak, "ratio": peak / own}


def record(chosen: list[str]) -> Iterator[str]:
    """The lines of a record in Markdown."""
    about, lines = describe(), list[tuple[str, ...]]()
    for name in chosen:
        command = [sys.executable, "-m", "benchmarks.memory", "measure", name]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines.append((name, "", "", "", (done.stderr.strip().splitlines() or ["?"])[-1][:120]))
            continue
        x = json.loads(done.stdout)
        verdict = "" if x["ratio"] <= REQUIRED else "MORE"
        sizes = f"{x['states']:,}", f"{x['bytes'] / 1e6:.0f}", f"{x['peak'] / 1e6:.0f}"
        lines.append((name, *sizes, f"{x['ratio']:.3f} {verdict}".strip()))
    yield f"# Memory of a batch, {about['date'][:10]}"
    yield ""
    yield "Command: `python -m benchmarks.memory`. Panda, float64, C-contiguous, new arrays, a"
    yield "fresh process for every quantity. Peak: most resident memory less that before inputs."
    yield f"Required: at most {REQUIRED} times inputs and outputs. Commit {about['commit']}."
    yield ""
    yield from table(("quantity", "states", "inputs and outputs, MB", "peak, MB", "ratio"), lines)


def random_urdf(k: int, n: int) -> str:
    """A random arm of n joints that no other k has."""
    rng, parts = np.random.default_rng(k), [f'<robot name="robot {k}"><link name="l0"/>']
    for i in range(n):
        x, y, z, m = *rng.uniform(-0.1, 0.1, 3), rng.uniform(0.5, 2)
        axis = np.eye(3)[rng.integers(3)]
        parts.append(
            f'<link name="l{i + 1}"><inertial><origin xyz="{x} {y} {z}"/><mass value="{m}"/>'
            '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{i}" type="revolute"><origin xyz="0 {x} 0.3" rpy="{y} 0 {z}"/>'
            f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/><parent link="l{i}"/>'
            f'<child link="l{i + 1}"/>'
            '<limit lower="-2" upper="2" velocity="3" effort="100"/></joint>'
        )
    return "".join(parts) + "</robot>"


def workbench(loads: int) -> Iterator[str]:
    """Open robots one after the other as a page does; memory, live models and kernels."""
    from kinetree.views.workbench.api import answer
    from kinetree.views.workbench.shelf import Shelf
    from kinetree.views.workbench.state import plain

    shelf, models, kernels = Shelf(), weakref.WeakSet[Any](), weakref.WeakSet[Any]()
    start, most = resident("VmRSS"), 0
    for k in range(loads):
        urdf = base64.b64encode(random_urdf(k, SIZES[k % len(SIZES)]).encode()).decode()
        opened: Any = answer(shelf, "open", {"files": [{"name": "r.urdf", "base64": urdf}]})
        robot = shelf.find(opened["id"]).robot
        for thread in list(shelf._compiling.values()):
            thread.join()
        asked = {"robot": opened["id"], "q": plain(opened["rest"])}
        json.dumps(plain(answer(shelf, "readings", asked)))
        json.dumps(plain(answer(shelf, "simulate", {**asked, "duration": 0.5})))
        json.dumps(plain(answer(shelf, "readings", {**asked, "payload": {"mass": 1.0}})))
        models.add(robot.model)
        for x in vars(robot).values():
            if isinstance(x, kt.kernels.Kernel):
                kernels.add(x)
        del robot
        most = max(most, resident("VmRSS"))
        if k + 1 in (1, 10, 20, 50, 80) or (k + 1) % 100 == 0 or k + 1 == loads:
            yield (
                f"| {k + 1} | {resident('VmRSS') / 1e6:.0f} | {most / 1e6:.0f} | {len(models)} | "
                f"{len(kernels)} | {time.process_time():.0f} |"
            )
    shelf.close()
    yield f"\nBefore the first robot: {start / 1e6:.0f} MB."


def main() -> None:
    """Measure what the words ask for."""
    kind, *rest = sys.argv[1:] or ["record"]
    if kind == "measure":
        print(json.dumps(measure(" ".join(rest))))
    elif kind == "workbench":
        print("| loads | resident, MB | at most, MB | models | kernels | processor, s |")
        print("|---|---|---|---|---|---|")
        for line in workbench(int(rest[0]) if rest else LOADS):
            print(line, flush=True)
    else:
        print("\n".join(record(rest or names())))


if __name__ == "__main__":
    main()
