"""Print a hash of the results of every quantity on the built-in robots.

Two versions of kinetree that print the same lines compute the same bits. Run it before and after a
refactoring and compare the two outputs:

    python tools/result_hashes.py > before.txt
    python tools/result_hashes.py | diff before.txt -

Compiled kernels, the textbook form of the recursion, and simulations are covered. Kernel results do
not depend on the machine; results of the textbook form may, through NumPy's own products.
"""

import hashlib
import sys
import warnings
from typing import Any

import numpy as np

import kinetree as kt
from kinetree import dynamics
from kinetree.dynamics.quantities import DECLARED

STATE = ("q", "dq", "ddq", "tau")
# quantities of other robots
OTHERS = ("constraint", "constrained", "contact", "reduced", "task_space")
KERNELS = {
    name: quantity.inputs
    for name, quantity in DECLARED.items()
    if set(quantity.inputs) <= set(STATE) and not name.startswith(OTHERS)
}
LOADED = ("inverse_dynamics", "forward_dynamics", "bias_forces")
FORMS = ("screw", "closed", "link", "space")
STATES = 16


def built_in_robots() -> dict[str, Any]:
    """All built-in robots by name, one with friction and payload, and one with all else."""
    robots = {name: getattr(kt.robots, name)() for name in kt.robots.TREES}
    rubbing = {
        name: kt.friction.Friction(viscous=0.3 + 0.1 * k, coulomb=0.2)
        for k, name in enumerate(robots["ur5e"].model.joint_names)
    }
    robots["ur5e with friction and payload"] = (
        robots["ur5e"].with_friction(rubbing).with_payload(1.5, (0.01, 0.02, 0.05))
    )
    robots["crane"] = crane()
    return robots


def crane() -> Any:
    """A tree with every joint type, armature, near and far rotors, a mimic joint and offsets."""
    body = {"m": 1.3, "com": (0.02, -0.05, 0.1), "I_com": np.diag([0.02, 0.03, 0.025])}
    builder = kt.Builder("crane").link("base")
    for name in ("ship", "deck", "boom", "slide", "twist", "arm", "wrist", "jaw", "hook", "plate"):
        builder.link(name, **body)
    at = (0.1, 0.2, 0.3)
    builder.joint("sea", "free", "base", "ship", at=at)
    builder.joint("yaw", "revolute", "ship", "deck", at=at, rotor=kt.joints.Rotor(1e-3, 50))
    builder.joint(
        "luff",
        "revolute",
        "deck",
        "boom",
        at=at,
        axis=(0.6, 0, 0.8),
        offset=0.3,
        rotor=kt.joints.Rotor(2e-4, 80, (0, 1, 0), "ship"),
        friction=kt.friction.Friction((0.2, 0.3), (0.1, 0.2)),
    )
    builder.joint("reach", "prismatic", "boom", "slide", at=at, axis=(1, 0, 0), armature=0.4)
    builder.joint("screw", "helical", "slide", "twist", at=at, pitch=0.02, point=(0.1, 0, 0))
    builder.joint("ball", "spherical", "deck", "arm", at=at)
    builder.joint("bend", "revolute", "arm", "wrist", at=at, axis=(0, 1, 0), armature=0.02)
    builder.joint(
        "jaw",
        "revolute",
        "wrist",
        "jaw",
        at=at,
        axis=(0, 1, 0),
        armature=0.01,
        mimic=kt.joints.Mimic("bend", -0.5, 0.1),
        friction=kt.friction.Friction(0.1),
    )
    builder.joint("table", "planar", "twist", "plate", at=at)
    builder.joint("weld", "fixed", "plate", "hook", at=at)
    builder.frame("tip", "jaw", (0, 0, 0.1), tool=True)
    return builder.build()


def states(robot: Any) -> dict[str, np.ndarray]:
    """Random arguments, the same for every version."""
    rng = np.random.default_rng(20261115)
    n, links = robot.n, len(robot.model.links)
    return {
        "q": np.array([dynamics.random(robot.model, rng) for _ in range(STATES)]),
        **{name: rng.uniform(-1.5, 1.5, (STATES, n)) for name in STATE[1:]},
        "F_ext": rng.uniform(-3, 3, (STATES, links, 6)),
    }


def digest(result: Any) -> str:
    """Hash of an array or of several; -0 counts as 0, as it does in any sum."""
    arrays = result if isinstance(result, tuple) else (result,)
    found = hashlib.sha256()
    for x in arrays:
        found.update(np.ascontiguousarray(np.asarray(x, float) + 0.0).tobytes())
    return found.hexdigest()[:16]


def kernel_lines(name: str, robot: Any) -> None:
    """One line a compiled quantity."""
    x = states(robot)
    for quantity, inputs in KERNELS.items():
        arguments = [x[y] for y in inputs]
        print(name, "|", quantity, "|", digest(robot.compile(quantity)(*arguments)))
        if quantity in LOADED:
            kernel = robot.compile(quantity, wrenches=True)
            print(name, "|", quantity, "with F_ext |", digest(kernel(*arguments, x["F_ext"])))


def free_lines(name: str, robot: Any) -> None:
    """Kernels with data left free, and second derivatives."""
    x, model = states(robot), robot.model
    kernel = robot.compile("inverse_dynamics", free=["mass", "com", "inertia", "gravity"])
    free = model.m, model.com, model.I_com, model.gravity[3:]
    print(name, "| free |", digest(kernel(x["q"], x["dq"], x["ddq"], *free)))
    second = robot.derivative("mass_matrix", "q")
    print(name, "| dM/dq |", digest(second(x["q"])))


def textbook_lines(name: str, robot: Any) -> None:
    """The four formulations on floats."""
    x = states(robot)
    for form in FORMS:
        found = [
            dynamics.newton_euler(
                robot.model, x["q"][k], x["dq"][k], x["ddq"][k], x["F_ext"][k], formulation=form
            ).tau
            for k in range(3)
        ]
        print(name, "| newton_euler", form, "|", digest(np.array(found)))


def simulation_lines(name: str, robot: Any) -> None:
    """Fixed and adaptive steps, and sensitivities."""
    q, dq = states(robot)["q"][0], np.zeros(robot.n)
    for method, options in (("rk4", {"dt": 1e-3}), ("semi_implicit_euler", {"dt": 1e-3}),
                            ("DOP853", {"record": 1e-2})):  # fmt: skip
        found = robot.simulate(q, dq, duration=0.2, method=method, limits="ignore", **options)
        print(name, "| simulate", method, "|", digest((found.q, found.dq)))


def main() -> None:
    """Print all lines; a robot's names on the command line choose among them."""
    warnings.simplefilter("ignore")
    wanted, robots = sys.argv[1:], built_in_robots()
    unknown = [name for name in wanted if name not in robots]
    if unknown:
        sys.exit(f"There is no robot {unknown[0]!r}; choose from {', '.join(robots)}.")
    for name, robot in robots.items():
        if wanted and name not in wanted:
            continue
        kernel_lines(name, robot)
        textbook_lines(name, robot)
        if robot.n <= 8:
            free_lines(name, robot)
            simulation_lines(name, robot)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
