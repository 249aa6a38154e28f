"""Corners: what a user waits for beside the kernels, one row each, in fresh processes.

    python -m benchmarks.corners                       # this version
    python -m benchmarks.corners --against FOLDER      # and another checkout, in turn
    python -m benchmarks.corners --only "one state"    # corners whose name has these words

Seconds are by the clock, with those of the processor (all threads) in brackets; calls are timed in
processor time. Every figure is the least of its repeats, of speeds beside a peer too; a process
that takes longer than SLOW is not repeated. A corner that a version does not have, or in which it
fails or takes longer than LIMIT, is shown as a dash, and the reason is printed.

Each corner is a function that runs in a process of its own, with the modules `kinetree` and
`benchmarks` of the version that is measured, an empty cache of kernels, and byte code on disk.
"""

import argparse
import base64
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Found = dict[str, float | tuple[float, float]]  # what -> a number, or seconds of clock and work

REPEATS = 3
LIMIT = 60  # s of one process
SLOW = 15  # s of one process, after which it is not repeated


class Watch:
    """Seconds since the beginning, by the clock and of the processor."""

    def __init__(self) -> None:
        self._clock, self._work = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Both."""
        return time.perf_counter() - self._clock, time.process_time() - self._work


def first_and_code(model: Any, quantity: str, arguments: int = 3) -> Found:
    """From the model to the first result, and to machine code."""
    import numpy as np

    import kinetree as kt

    robot, rng = kt.Robot(model), np.random.default_rng(3)
    given = [rng.uniform(-1, 1, robot.n) for _ in range(arguments)]
    watch = Watch()
    kernel = robot.compile(quantity)
    kernel(*given)
    first = watch.read()
    getattr(kernel, "wait", lambda: None)()
    return {"first answer": first, "machine code": watch.read()}


def chain(n: int) -> Any:
    """A random chain of the question `growth`."""
    return importlib.import_module("benchmarks.mechanisms").mechanism("chain", n).model


def talos() -> Any:
    """Talos, 44 joints."""
    return importlib.import_module("benchmarks.robots").load("talos").model


def rotors(chain: int = 0) -> Any:
    """A tree of 100 joints, of which 58 have their rotors on other links; or a chain of hinges."""
    samples = importlib.import_module("kinetree.model.samples")
    if chain:
        return samples.random_model(3, chain, types=("revolute",), chain=True)
    return samples.random_model(48, 100)


def four_bars() -> Found:
    """IFToMM's A02 with 40 cells: constrained, and 0.1 s of motion.

    Written out, because older checkouts have no examples/iftomm.
    """
    import numpy as np

    import kinetree as kt
    from kinetree.constraints import Loop

    cells, rod = 40, np.diag([0, 1, 1]) / 12
    builder = kt.Builder("cells", gravity=(0, -9.81, 0)).link("ground")
    for k in range(cells + 1):
        builder.link(f"u{k}", m=1, com=(0, 0.5, 0), I_com=np.diag([1, 0, 1]) / 12)
        builder.joint(f"A{k}", "revolute", "ground", f"u{k}", axis=(0, 0, 1), at=(k, 0, 0))
        builder.frame(f"top{k}", f"u{k}", (0, 1, 0))
    for k in range(cells):
        builder.link(f"r{k}", m=1, com=(0.5, 0, 0), I_com=rod)
        builder.joint(f"B{k}", "revolute", f"u{k}", f"r{k}", axis=(0, 0, 1), at=(0, 1, 0))
        builder.frame(f"end{k}", f"r{k}", (1, 0, 0))
    loops = {f"C{k}": Loop(f"end{k}", f"top{k + 1}", "axis") for k in range(cells)}
    start = np.zeros(2 * cells + 1)
    tree, watch = builder.build(), Watch()
    robot = tree.constrained(loops, near=start, actuated=["A0"])
    found: Found = {"constrained()": watch.read()}
    watch = Watch()
    robot.simulate(start, np.r_[-np.ones(cells + 1), np.ones(cells)], duration=0.1)
    return {**found, "first run": watch.read()}


def long_robot() -> Path:
    """A file of a chain of 1,500 links."""
    mechanisms = importlib.import_module("benchmarks.mechanisms")
    path = Path(tempfile.mkdtemp()) / "long.urdf"
    path.write_text(mechanisms.urdf("long", mechanisms.chain(1500)), encoding="utf-8")
    return path


def report() -> Found:
    """The page of 1,500 links, by the command."""
    path = long_robot()
    command = [sys.executable, "-m", "kinetree", "report", str(path)]
    return {"page": command_seconds([*command, "-o", str(path.with_suffix(".html"))])}


class Bench:
    """A workbench, asked as its page asks; older checkouts have no other door than API."""

    def __init__(self) -> None:
        from kinetree.views.workbench.shelf import Shelf

        self.shelf: Any = Shelf()

    def ask(self, name: str, **request: Any) -> Any:
        """The answer to a request, as text that a page would get."""
        from kinetree.views.workbench.api import API
        from kinetree.views.workbench.state import plain

        return json.loads(json.dumps(plain(API[name](self.shelf, request))))

    def open(self, urdf: bytes) -> dict[str, Any]:
        """Open a file; what further requests take."""
        file = {"name": "r.urdf", "base64": base64.b64encode(urdf).decode()}
        opened = self.ask("open", files=[file])
        return {"robot": opened["id"], "q": opened["rest"]}


def workbench() -> Found:
    """Open 1,500 links in a workbench, read forces and equations, as a page does."""
    bench, urdf = Bench(), long_robot().read_bytes()
    watch = Watch()
    asked = bench.open(urdf)
    bench.ask("readings", **asked)
    bench.ask("equations", robot=asked["robot"])
    return {"open, readings, equations": watch.read()}


def uploads() -> Found:
    """Resident memory after robots of 6 to 15 joints were opened, read and simulated."""
    mechanisms, bench = importlib.import_module("benchmarks.mechanisms"), Bench()
    for n in range(6, 16):
        asked = bench.open(mechanisms.urdf(f"r{n}", mechanisms.chain(n)).encode())
        bench.ask("readings", **asked)
        bench.ask("simulate", **asked, duration=0.5)
    status = Path("/proc/self/status").read_text().split()
    return {"resident memory, MB": int(status[status.index("VmRSS:") + 1]) / 1024}


def beside(question: str, robot: str, rows: dict[str, tuple[str, str]], target: str = "") -> Found:
    """How often kinetree runs in the time of a peer: rows of a question of the whole benchmark.

    rows: name of a figure -> part of the row's quantity, and of the peer's name.
    """
    os.environ |= {"KINETREE_TARGET": target} if target else {}
    effort = importlib.import_module("benchmarks.timing").QUICK
    answer = importlib.import_module(f"benchmarks.questions.{question}").ask(robot, effort)
    found: Found = {}
    for name, (quantity, who) in rows.items():
        row = [x for x in answer.rows if quantity in x.quantity and who in x.who][-1]
        found[name] = row.ratio
    return found


FUNCTIONS = {f"{x}, speed over NumPy's": (x, "NumPy") for x in ("exp", "log")}
FEET = {"4096 states, times pin.constraintDynamics": ("constrained_forward", "constraintDynamics")}


def command_seconds(command: list[str]) -> tuple[float, float]:
    """Seconds of a command, by the clock and of the processor."""
    import resource

    def work() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before, start = work(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, work() - before


def starts() -> Found:
    """`kinetree id panda` with its kernel on disk, and imports."""
    words = ["id", "panda", "--q", *["0.1"] * 7]
    command = [sys.executable, "-m", "kinetree", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    best = min((command_seconds(command) for _ in range(5)), key=lambda x: x[1])
    script = (
        "import sys, time, numpy; v = time.process_time();"
        f"import kinetree; u = time.process_time(); sys.argv = ['kinetree', *{words!r}]\n"
        "try: from kinetree.cli import main; main()\n"
        "except SystemExit: pass\n"
        "print(); print(u - v, sum(x.split('.')[0] == 'kinetree' for x in sys.modules))"
    )
    runs = [subprocess.check_output([sys.executable, "-c", script], text=True) for _ in range(5)]
    last = [run.splitlines()[-1].split() for run in runs]
    return {
        "id panda, whole process": best,
        "id panda, modules": float(last[0][1]),
        "import kinetree after NumPy, ms": 1e3 * min(float(x[0]) for x in last),
    }


def microseconds(call: Callable[[], object], count: int = 1000) -> float:
    """Processor time of one call, the least of 15 repeats."""
    timer = timeit.Timer(call, timer=time.process_time)
    timer.timeit(count)
    return 1e6 * min(timer.repeat(15, count)) / count


def calls() -> Found:
    """Small calls of a Panda."""
    import numpy as np

    import kinetree as kt

    # no other thread: those of the compiler would be counted
    os.environ |= {"KINETREE_THREADS": "1"}
    robot, rng = kt.robots.panda(), np.random.default_rng(3)
    one, many = rng.uniform(-1, 1, (2, 3, 7)), rng.uniform(-1, 1, (3, 256, 7))
    names = [joint.name for joint in robot.model.joints][:7]
    q, dq, ddq = one[0]
    dicts = [dict(zip(names, map(float, x), strict=True)) for x in (q, dq, ddq)]
    robot.linearize(*many, dt=0.01)
    alone = microseconds(lambda: robot.inverse_dynamics(*many))
    found: Found = {
        "one state, us": microseconds(lambda: robot.inverse_dynamics(q, dq, ddq), 5000),
        "one state by dict, us": microseconds(lambda: robot.inverse_dynamics(*dicts)),
        "linearize(dt=0.01), us a state": microseconds(lambda: robot.linearize(*many, dt=0.01), 20)
        / 256,
    }
    for package in ("torch", "jax"):
        try:
            found[f"{package}, 256 states, times NumPy"] = tensors(package, robot, many) / alone
        except ImportError as problem:
            print(problem, file=sys.stderr)
    return found


def tensors(package: str, robot: Any, many: Any) -> float:
    """Microseconds of 256 states as tensors on the CPU."""
    if package == "torch":
        import torch

        torch.set_num_threads(1)
        given: Any = [torch.from_numpy(x) for x in many]
        return microseconds(lambda: robot.inverse_dynamics(*given))
    import jax

    jax.config.update("jax_enable_x64", True)
    given = [jax.numpy.asarray(x) for x in many]
    jitted = jax.jit(lambda *x: robot.inverse_dynamics(*x))
    return microseconds(lambda: jitted(*given).block_until_ready())


# quantities of a chain of 256 joints, and how many arguments each has
OF_256 = {
    "mass_matrix": 1,
    "inverse_mass_matrix": 1,
    "coriolis_matrix": 2,
    "body_jacobian": 1,
    "space_jacobian_rate": 2,
    "centroidal_momentum_matrix_rate": 2,
    "inverse_dynamics_derivatives": 3,
    "bias_forces_rate": 3,
    "task_space": 2,
}
# corner -> what is measured, and repeats
CORNERS: dict[str, tuple[Callable[[], Found], int]] = {
    **{
        f"forward dynamics, {n} joints": (
            lambda n=n: first_and_code(chain(n), "forward_dynamics"),
            REPEATS,
        )
        for n in (7, 16, 32, 1024)
    },
    "derivatives of forward dynamics, Talos": (
        lambda: first_and_code(talos(), "forward_dynamics_derivatives"),
        REPEATS,
    ),
    **{
        f"inverse mass matrix, {n} joints": (
            lambda n=n: first_and_code(chain(n), "inverse_mass_matrix", 1),
            REPEATS,
        )
        for n in (29, 30)
    },
    "forward dynamics, 58 rotors on other links": (
        lambda: first_and_code(rotors(), "forward_dynamics"),
        REPEATS,
    ),
    **{
        f"{name.replace('_', ' ')}, 256 joints": (
            lambda name=name, k=k: first_and_code(chain(256), name, k),
            1,
        )
        for name, k in OF_256.items()
    },
    "inverse mass matrix, 256 joints with rotors": (
        lambda: first_and_code(rotors(256), "inverse_mass_matrix", 1),
        1,
    ),
    "40 four-bars": (four_bars, REPEATS),
    "report of 1,500 links": (report, REPEATS),
    "workbench with 1,500 links": (workbench, REPEATS),
    "10 uploads": (uploads, 1),
    "start": (starts, 1),
    "calls": (calls, 2),
    "functions": (lambda: beside("functions", "", FUNCTIONS), REPEATS),
    "Talos on two feet": (lambda: beside("constrained", "talos", FEET), REPEATS),
    "Talos on two feet, AVX2": (lambda: beside("constrained", "talos", FEET, "avx2"), REPEATS),
}

# corner -> what -> asked for, seconds if no unit stands in the name
ASKED: dict[str, dict[str, float]] = {
    **{
        f"forward dynamics, {n} joints": {"first answer": 0.25, "machine code": 1.0}
        for n in (7, 16, 32)
    },
    "forward dynamics, 1024 joints": {"first answer": 0.4},
    "derivatives of forward dynamics, Talos": {"first answer": 1.5, "machine code": 5.0},
    "inverse mass matrix, 29 joints": {"machine code": 3.0},
    "inverse mass matrix, 30 joints": {"machine code": 3.0},
    "forward dynamics, 58 rotors on other links": {"first answer": 1.5},
    **{f"{name.replace('_', ' ')}, 256 joints": {"machine code": 5.0} for name in OF_256},
    "inverse mass matrix, 256 joints with rotors": {"machine code": 5.0},
    "40 four-bars": {"constrained()": 2.0, "first run": 2.0},
    "report of 1,500 links": {"page": 3.0},
    "workbench with 1,500 links": {"open, readings, equations": 3.0},
    "start": {
        "id panda, whole process": 0.2,
        "id panda, modules": 110,
        "import kinetree after NumPy, ms": 80,
    },
    "calls": {
        "one state, us": 0.25,
        "one state by dict, us": 3.0,
        "linearize(dt=0.01), us a state": 5.0,
        "torch, 256 states, times NumPy": 1.3,
        "jax, 256 states, times NumPy": 1.3,
    },
    "functions": dict.fromkeys(FUNCTIONS, 0.9),
    "Talos on two feet": dict.fromkeys(FEET, 20.0),
    "Talos on two feet, AVX2": dict.fromkeys(FEET, 20.0),
}


def in_process(folder: Path, name: str) -> Found:
    """One measurement of a corner by the version in a folder; nothing where it fails."""
    with tempfile.TemporaryDirectory() as cache:
        known = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)]),
            "KINETREE_CACHE_DIR": cache,
            "OPENBLAS_NUM_THREADS": "1",
        }
        known.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--corner", name]
        try:
            done = subprocess.run(
                command, env=known, cwd=folder, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            print(f"{name}, {folder.name}: more than {LIMIT} s", file=sys.stderr)
            return {}
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["?"])[-1]
        print(f"{name}, {folder.name}: {reason[:150]}", file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def least(runs: list[Found]) -> Found:
    """The least of each figure."""
    found: Found = {}
    for run in runs:
        for what, x in run.items():
            value = tuple(x) if isinstance(x, list) else x
            old: Any = found.get(what, value)
            found[what] = tuple(map(min, old, value)) if isinstance(value, tuple) else min(old, x)
    return found


def shown(x: float | tuple[float, float] | None) -> str:
    """A figure in a cell."""
    if x is None:
        return "-"
    return f"{x[0]:.2f} ({x[1]:.2f})" if isinstance(x, tuple) else f"{x:.4g}"


def rows(folders: list[Path], words: str) -> Iterator[list[str]]:
    """Rows of the table: corner, what, figures of all versions, asked; versions in turn."""
    for name, (_, repeats) in CORNERS.items():
        if words not in name:
            continue
        runs: list[list[Found]] = [[] for _ in folders]
        again = [True for _ in folders]
        for _ in range(repeats):
            for k, folder in enumerate(folders):
                if again[k]:
                    watch = Watch()
                    runs[k].append(in_process(folder, name))
                    again[k] = bool(runs[k][-1]) and watch.read()[0] < SLOW
        found = [least(x) for x in runs]
        for what in dict.fromkeys(what for x in found for what in x):
            asked = ASKED.get(name, {}).get(what)
            figures = [shown(x.get(what)) for x in found]
            yield [name, what, *figures, "" if asked is None else f"{asked:g}"]


def main() -> None:
    """Measure one corner here, or all in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, with its own benchmarks")
    parser.add_argument("--only", default="", help="part of the names of corners")
    parser.add_argument("--corner", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.corner:
        print(json.dumps(CORNERS[options.corner][0]()))
        return
    if options.against is not None and not (options.against / "src" / "kinetree").is_dir():
        parser.error(f"{options.against} is not a checkout: it has no folder src/kinetree.")
    here = Path(__file__).resolve().parent.parent
    folders = [here] if options.against is None else [options.against.resolve(), here]
    heads = ["now"] if options.against is None else ["before", "now"]
    print(f"| corner | | {' | '.join(heads)} | asked |")
    print("|---" * (3 + len(heads)) + "|")
    for row in rows(folders, options.only):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
