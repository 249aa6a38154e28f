"""Time work that happens once per process, such as imports; print seconds as JSON."""

import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.timing import FEWEST


def main() -> None:
    """`compile COUNT SECONDS ROBOT QUANTITY [ready [HELD]]`, from the model to the first result.

    Or `import`.
    """
    kind, *rest = sys.argv[1:]
    print(json.dumps(timed_import() if kind == "import" else timed_compiles(*rest)))


def timed_import() -> dict[str, object]:
    """Seconds of importing NumPy, then kinetree, and the heavy packages imported with it."""
    start, work = time.perf_counter(), time.process_time()
    import numpy  # noqa: F401

    between, half = time.perf_counter(), time.process_time()
    import kinetree  # noqa: F401

    end, done = time.perf_counter(), time.process_time()
    heavy = ("llvmlite", "sympy", "matplotlib", "mujoco", "mpmath", "scipy", "pinocchio", "rich")
    found = [name for name in heavy if name in sys.modules]
    return {
        "total": end - start,
        "numpy": between - start,
        "heavy": found,
        "cpu": done - work,
        "numpy_cpu": half - work,
    }


def timed_compiles(
    count: str, limit: str, robot: str, quantity: str, ready: str = "", held: str = ""
) -> list[tuple[float, float]]:
    """Seconds from the model to the first result, by the clock and of work, in fresh copies.

    Each copy (fork) of this process has the robot and nothing of LLVM. `ready` compiles a toy
    first, to start LLVM. `held` names constraints of the question "constrained", whose robot takes
    kernels to make. At most `count` copies, and after FEWEST none that begins later than `limit`
    seconds.
    """
    if held:
        from benchmarks.questions.constrained import mechanism

        made = mechanism(robot, held)
        chosen = made.robot
        state = made.start, *[[0.1] * chosen.n] * 2
    else:
        from benchmarks.robots import load, states

        case = load(robot)
        chosen, state = case.robot, states(case, quantity, None)

    def timed() -> tuple[float, float]:
        if ready:
            wake()
        start, work = time.perf_counter(), time.process_time()
        getattr(chosen, quantity)(*state)
        return time.perf_counter() - start, time.process_time() - work

    begin, found = time.perf_counter(), list[tuple[float, float]]()
    while len(found) < min(FEWEST, int(count)) or (
        len(found) < int(count) and time.perf_counter() - begin < float(limit)
    ):
        found.append(in_a_copy(timed))
    return found


def in_a_copy(work: Callable[[], Any]) -> Any:
    """The result of a function in a fork of this process."""
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    copy = fork.Process(target=lambda: send.send(work()))
    copy.start()
    send.close()
    try:
        return receive.recv()
    finally:
        copy.join()


def wake() -> None:
    """Import llvmlite, initialise LLVM and use each of its stages once, on another robot."""
    from kinetree import robots

    robots.rp().inverse_dynamics(*([[0.1] * 2] * 3))


if __name__ == "__main__":
    main()
