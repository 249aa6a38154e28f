"""Time work that happens once per process, such as imports; print seconds as JSON."""

import json
import sys
import time


def main() -> None:
    """`compile ROBOT QUANTITY [ready [HELD]]`: from the model to the first result; or `import`."""
    kind, *rest = sys.argv[1:]
    print(json.dumps(timed_import() if kind == "import" else timed_compile(*rest)))


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


def timed_compile(robot: str, quantity: str, ready: str = "", held: str = "") -> dict[str, object]:
    """Seconds from the model to the first result; `ready` compiles a toy first, to start LLVM.

    `held` names constraints of the question "constrained".
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
    if ready:
        wake()
    start, work = time.perf_counter(), time.process_time()
    getattr(chosen, quantity)(*state)
    return {"total": time.perf_counter() - start, "cpu": time.process_time() - work}


def wake() -> None:
    """Import llvmlite, initialise LLVM and use each of its stages once, on another robot."""
    from kinetree.model.samples import random_model
    from kinetree.robot import Robot

    toy = Robot(random_model(1, 1))
    toy.inverse_dynamics(*([[0.1]] * 3))


if __name__ == "__main__":
    main()
