"""Times of a robot's kernels, of the form they came from, and of peers on the same states."""

import os
import platform
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from kinetree import algorithms
from kinetree.backends.threads import threads
from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.cli.peer_calls import first_line, peer_calls
from kinetree.cli.show import console, table
from kinetree.kernels.compile import compile_kernel
from kinetree.robot import Robot

QUANTITIES = {
    "inverse_dynamics": ("q", "dq", "ddq"),
    "forward_dynamics": ("q", "dq", "tau"),
    "mass_matrix": ("q",),
}
REPEATS, LEAST = 7, 0.01  # repeats, and the least seconds of one
AGREEMENT = 1e-8  # relative to the largest result, for a peer to be timed


def measure(robot: Robot, sizes: Sequence[int], peers: bool) -> dict[str, Any]:
    """All times of a robot as plain data."""
    states = random_states(robot, max(sizes))
    found: dict[str, Any] = {}
    notes: list[str] = []
    calls = peer_calls(robot, notes) if peers else {}
    progress = Console(stderr=True)
    with threads(1), progress.status("timing") as status:
        for quantity, letters in QUANTITIES.items():
            status.update(f"timing {quantity.replace('_', ' ')}")
            inputs = [states[x] for x in letters]
            made, kernel = compile_times(robot, quantity)
            one = [x[0] for x in inputs]
            direct = getattr(algorithms, quantity)
            found[quantity] = {
                "operations": kernel.operations,
                **made,
                "kernel": {"1": nanoseconds(kernel, one)} | batches(kernel, inputs, sizes),
                "direct": nanoseconds(lambda *x, f=direct: f(robot.model, *x), one),
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


def compile_times(robot: Robot, quantity: str) -> tuple[dict[str, float], Any]:
    """Seconds to make the kernel from nothing and from the disk, with a cache of its own."""
    before = {x: os.environ.get(x) for x in ("KINETREE_CACHE_DIR", "KINETREE_CACHE")}
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"KINETREE_CACHE_DIR": os.path.join(folder, "cache"), "KINETREE_CACHE": "1"}
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


def batches(kernel: Any, inputs: Sequence[Array], sizes: Sequence[int]) -> dict[str, float]:
    """Nanoseconds per state in calls of several states."""
    chosen = [size for size in dict.fromkeys(sizes) if size > 1]
    return {str(k): nanoseconds(kernel, [x[:k] for x in inputs]) / k for k in chosen}


def nanoseconds(function: Callable[..., Any], arguments: Sequence[Any]) -> float:
    """Of one call: the best of some repeats, each long enough for the clock."""
    names = {"f": function} | {f"x{k}": x for k, x in enumerate(arguments)}
    timer = timeit.Timer(f"f({', '.join(list(names)[1:])})", globals=names)
    timer.timeit(1)
    count, taken = 1, timer.timeit(1)
    while taken < LEAST and count < 1 << 24:
        count = max(2 * count, int(count * LEAST / max(taken, 1e-9)))
        taken = timer.timeit(count)
    return min(taken, *timer.repeat(REPEATS - 1, count)) / count * 1e9


def time_peers(
    calls: dict[str, dict[str, Callable[..., Any]]],
    quantity: str,
    kernel: Any,
    inputs: Sequence[Array],
    notes: list[str],
) -> dict[str, float]:
    """Nanoseconds of one state of every peer whose results are those of the kernel."""
    found = {}
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
    """A column for every quantity, a row for every way to compute it."""
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
    screen.print(table(title, heads, rows))
    for note in found["notes"]:
        screen.print(f"- {note}")


def duration(ns: float | None) -> str:
    """A time with three digits and its unit."""
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"
