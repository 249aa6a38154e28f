"""Speed at the public API, as ratios to peers that are measured in the same run.

    make speed            # compare with benchmarks/speed.json; about three minutes
    make speed STORE=1    # renew benchmarks/speed.json

There are five rounds. Each is a fresh process that takes all rows in turn; in a row kinetree and
its peer alternate, and the best of five alternations counts, in processor time on one core. A ratio
is the time of the peer over that of kinetree: more is better. The table has the median of the
rounds. Its noise is 1.5 times the median deviation from it, about a standard deviation, and at
least 1 %. A change is marked if it is more than twice the larger noise of the two runs.

Rows without a peer are beside a fixed load: 1,000 calls of pin.aba of a Panda or, by the clock, the
start of a Python that imports NumPy. Robots come from the package example-robot-data, without joint
friction.
"""

import argparse
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import distribution, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.speed_peers import (
    Call,
    casadi_batch,
    crocoddyl_solver,
    mujoco_model,
    mujoco_rollout,
    pinocchio_batch,
)

HERE = Path(__file__).parent
STORED = HERE / "speed.json"
SOLVERS = HERE.parent / ".venv-solvers" / "bin" / "python"  # has Crocoddyl and its version of pin
ROUNDS, ALTERNATIONS, LEAST = 5, 5, 0.01  # LEAST: s of an alternation
LEAST_NOISE = 0.01
COUNT = 256  # states of a batch
TOLERANCE = 1e-9  # of the norm, in which a peer agrees
ROBOTS = {
    "Panda": "panda_description/urdf/panda.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "Talos": "talos_data/robots/talos_full_v2.urdf",
    "Go1": "go1_description/urdf/go1.urdf",
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
}
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")  # are locked
FLANGE, POSE = "panda_link8", (0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7)
QUANTITIES = {
    "ID": "inverse_dynamics",
    "FD": "forward_dynamics",
    "M": "mass_matrix",
    "d tau": "inverse_dynamics_derivatives",
}
SIMULATED = {
    "default": {},
    "adaptive": {"method": "DOP853"},
    "1 ms steps": {"method": "semi_implicit_euler", "dt": 0.001},
}
DT, STEPS, STARTS, FRICTION = 0.002, 50, 128, 0.8  # of steps with contacts
GAINS = {"Go1": (60.0, 2.0), "G1": (150.0, 5.0)}
STANCE = {"thigh": 0.8, "calf": -1.6}  # rad, of joints with these words in their names
SOLES = [(x, y, -0.03) for x, y in ((-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03))]
ITERATIONS = 5

Row = tuple[str, Call, Call, int]  # "what | peer", kinetree, the peer, states or steps in a call


def file_of(name: str) -> str:
    """The robot's file."""
    folder = f"cmeel.prefix/share/example-robot-data/robots/{ROBOTS[name]}"
    return str(distribution("example-robot-data").locate_file(folder))


@functools.cache
def pair(name: str) -> SimpleNamespace:
    """The robot in kinetree and Pinocchio, states of both, and the order of Pinocchio's joints."""
    import pinocchio as pin

    import kinetree as kt

    robot = kt.load(file_of(name), friction="none", mimic=False)
    model = pin.buildModelFromUrdf(file_of(name))
    if name == "Panda":
        robot = robot.lock(dict.fromkeys(FINGERS, 0.0))
        locked = [model.getJointId(x) for x in FINGERS]
        model = pin.buildReducedModel(model, locked, pin.neutral(model))
    order = [robot.joint_names.index(x) for x in list(model.names)[1:]]
    x = np.random.default_rng(7).normal(size=(3, COUNT, robot.n))
    theirs = np.ascontiguousarray(x[..., order])
    known = {"name": name, "order": order, "x": x, "theirs": theirs}
    return SimpleNamespace(robot=robot, model=model, data=model.createData(), **known)


def kernel_rows(name: str) -> Iterator[Row]:
    """Batches of a robot beside Pinocchio and CasADi's C, which have to agree."""
    both = pair(name)
    for short, quantity in QUANTITIES.items():
        kernel, given = getattr(both.robot, quantity), both.x[: 1 if short == "M" else 3]
        out = kernel(*given)
        expected = (np.stack(out[:2]) if short == "d tau" else out)[..., both.order]
        if short in ("M", "d tau"):
            expected = expected[..., both.order, :]
        peers = {"Pinocchio": pinocchio_batch(both, quantity)}
        if shutil.which("gcc"):
            peers["CasADi C"] = casadi_batch(both, quantity)
        for who, (run, result) in peers.items():
            run()
            error = np.linalg.norm(result() - expected) / np.linalg.norm(expected)
            if not error < TOLERANCE:
                raise ValueError(f"{who} differs in {quantity} of {name} by {error:.1e}.")
            yield f"{name} {short} | {who}", partial(kernel, *given, out=out), run, COUNT


def load() -> None:
    """The fixed load: 1,000 calls of pin.aba."""
    import pinocchio as pin

    both = pair("Panda")
    model, data, state = both.model, both.data, both.theirs[:, 0]
    for _ in range(1000):
        pin.aba(model, data, *state)


def single_rows() -> Iterator[Row]:
    """One state of a Panda as arrays and as lists, and a second of its motion."""
    import pinocchio as pin

    both = pair("Panda")
    ours, peer = both.robot.inverse_dynamics, partial(pin.rnea, both.model, both.data)
    arrays, lists = tuple(both.x[:, 0]), both.x[:, 0].tolist()
    yield "Panda ID, one state | pin.rnea", partial(ours, *arrays), partial(peer, *arrays), 1

    def converted() -> np.ndarray:
        return peer(*map(np.array, lists))

    yield "Panda ID, lists | np.array and pin.rnea", partial(ours, *lists), converted, 1
    run = partial(both.robot.simulate, POSE, duration=1.0, limits="ignore", progress=False)
    for title, options in SIMULATED.items():
        yield f"Panda simulated 1 s, {title} | load", partial(run, **options), load, 1


def contact_rows(name: str) -> Iterator[Row]:
    """Steps on a plane, held by servos, from 5 mm above it, beside MuJoCo's rollout."""
    import kinetree as kt

    kp, kd = GAINS[name]
    robot = kt.load(file_of(name), floating=True, friction="none")
    servos = {x: kt.joints.Actuator.position(x, kp, kd) for x in robot.joint_names[1:]}
    robot = robot.with_contacts(feet(name), friction=FRICTION).with_actuators(servos)
    model = mujoco_model(robot, feet(name), FRICTION, DT)
    q = np.array(kt.dynamics.start_position(robot))
    for k, joint in enumerate(robot.coordinate_names):
        q[k] = next((angle for word, angle in STANCE.items() if word in joint), q[k])
    starts = np.tile(q, (STARTS, 1))
    starts[:, 7:] += 0.05 * np.random.default_rng(0).normal(size=(STARTS, len(q) - 7))
    starts = np.array([kt.contacts.on_ground(robot, x, 0.005) for x in starts])
    options = {"duration": STEPS * DT, "dt": DT, "method": "implicitfast", "limits": "ignore"}
    ours = partial(robot.simulate, starts, controls=q[7:], progress=False, **options)
    run, base = mujoco_rollout(model, robot, starts, q[7:], STEPS)
    apart = np.median(np.linalg.norm(base - ours().q[-1, :, 4:7], axis=-1))
    if apart > 0.02:  # m: MuJoCo's feet sink in
        raise ValueError(f"the base of {name} ends {apart:.3f} m away from that of MuJoCo.")
    yield f"{name} contact step | MuJoCo", ours, run, STARTS * STEPS


def feet(name: str) -> list[Any]:
    """Spheres below the shins of Go1, and four at the corners of each sole of G1."""
    from kinetree.contacts import ContactPoint

    if name == "Go1":
        links = [f"{x}_foot" for x in ("FR", "FL", "RR", "RL")]
        return [ContactPoint(link, link, radius=0.02) for link in links]
    links = [f"{side}_ankle_roll_link" for side in ("left", "right")]
    at = [(link, k, p) for link in links for k, p in enumerate(SOLES)]
    return [ContactPoint(f"{link} {k}", link, position=p, radius=0.005) for link, k, p in at]


def optimal_rows(peer: str) -> Iterator[Row]:
    """An iteration of iLQR: posture, rates and forces, and the place of the flange."""
    from kinetree import optimal

    both, start = pair("Panda"), np.array(POSE)
    goal = start + np.random.default_rng(4).uniform(-0.3, 0.3, len(POSE))
    place = np.array(both.robot.pose(goal, FLANGE)[:3, 3])
    costs = {
        "posture": optimal.Posture(goal, 1.0, 100.0),
        "rates": optimal.Rates(None, 0.1, 10.0),
        "place": optimal.FramePosition(place, 10.0, 1000.0, FLANGE),
        "effort": optimal.Effort(None, 1e-3),
    }
    problem = optimal.Problem(both.robot, dt=0.01, steps=32, costs=costs, limits=None)
    guess = problem.solve(start, iterations=0)
    options = {"guess": guess, "iterations": ITERATIONS, "tolerance": 0.0, "progress": False}
    ours, run = partial(problem.solve, start, **options), load
    if len(ours().history) != ITERATIONS:
        raise ValueError(f"iLQR ended before {ITERATIONS} iterations.")
    if peer == "Crocoddyl":
        task = start, goal, place, FLANGE, guess.tau, ITERATIONS
        run, cost = crocoddyl_solver(both.model, *task)
        least = problem.solve(start, tolerance=1e-12).cost
        if abs(cost / least - 1) > 1e-6:
            raise ValueError(f"Crocoddyl's least cost is {cost:.9g}, that of kinetree {least:.9g}.")
    yield f"Panda iLQR iteration | {peer}", ours, run, ITERATIONS


def round_of_rows(peers: str) -> dict[str, tuple[float, float]]:
    """For each row the seconds of kinetree and of its peer, on one core."""
    import kinetree as kt

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    kt.kernels.threads(1)
    groups = [partial(optimal_rows, "Crocoddyl")]
    if peers != "Crocoddyl":
        groups = [partial(kernel_rows, x) for x in ("Panda", "UR5", "Talos")]
        groups += [single_rows, partial(optimal_rows, "load")]
        groups += [partial(contact_rows, x) for x in ("Go1", "G1")]
    found: dict[str, tuple[float, float]] = {}
    for group in groups:
        for name, ours, peer, count in group():
            seconds, theirs = alternated(ours, peer)
            found[name] = seconds / count, theirs / count
    return found


def alternated(*calls: Call) -> list[float]:
    """The least seconds of processor time of each call, in turn; the first run warms up."""
    timers = [timeit.Timer(call, timer=time.process_time) for call in calls]
    counts = []
    for timer in timers:
        timer.timeit(1)
        count, taken = 1, timer.timeit(1)
        while taken < LEAST / 4:
            count *= 4
            taken = timer.timeit(count)
        counts.append(max(1, round(count * LEAST / taken)))
    parts = [
        [timer.timeit(count) / count for timer, count in zip(timers, counts, strict=True)]
        for _ in range(ALTERNATIONS)
    ]
    return [min(part) for part in zip(*parts, strict=True)]


SCRIPT = f"""
import time
import kinetree as kt
robot, q = kt.robots.panda(), {list(POSE)}
start = time.perf_counter()
answer = robot.inverse_dynamics(q, q, q)[0]
print(time.perf_counter() - start)
"""


def process_rows(cache: Path) -> dict[str, tuple[float, float]]:
    """What a user waits for in fresh processes; `cache` has the kernel of the script."""

    def seconds(script: str, folder: Path = cache) -> tuple[float, str]:
        begin = time.perf_counter()
        text = child([sys.executable, "-c", script], KINETREE_CACHE_DIR=str(folder))
        return time.perf_counter() - begin, text

    best = dict.fromkeys(("numpy", "import", "script", "disk", "cold"), float("inf"))
    for _ in range(3):
        with tempfile.TemporaryDirectory() as empty:
            whole, disk = seconds(SCRIPT)
            found = {"script": whole, "disk": float(disk), "numpy": seconds("import numpy")[0]}
            found["import"] = seconds("import kinetree")[0]
            found["cold"] = float(seconds(SCRIPT, Path(empty))[1])
        best = {name: min(x, found[name]) for name, x in best.items()}
    titles = {
        "import": "import kinetree",
        "script": "script that asks one number",
        "disk": "first answer from disk",
        "cold": "first answer cold",
    }
    return {f"{x} | python, NumPy": (best[key], best["numpy"]) for key, x in titles.items()}


def child(command: list[str], **environment: str) -> str:
    """The output of a process; its errors are shown."""
    known = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(command, env=known, check=True, stdout=subprocess.PIPE, text=True).stdout


def measured() -> dict[str, dict[str, float]]:
    """Every row of the table."""
    rounds: list[dict[str, tuple[float, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        kept = {"KINETREE_CACHE_DIR": folder}
        child([sys.executable, "-c", SCRIPT], **kept)
        for k in range(-1, ROUNDS):  # the first one compiles and does not count
            print(f"round {k + 1} of {ROUNDS}", file=sys.stderr)
            rows: dict[str, tuple[float, float]] = {}
            for python, peers in ((sys.executable, "others"), (str(SOLVERS), "Crocoddyl")):
                if Path(python).exists():
                    command = [python, "-W", "ignore", "-m", "benchmarks.speed", "--round", peers]
                    rows |= json.loads(child(command, **kept).splitlines()[-1])
            if k >= 0:
                rounds.append(rows | process_rows(Path(folder)))
    return {name: summary([x[name] for x in rounds]) for name in rounds[0]}


def summary(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Median time and ratio of the rounds, and the noise, to four digits."""
    ratios = [peer / ours for ours, peer in pairs]
    middle = statistics.median(ratios)
    noise = 1.5 * statistics.median(abs(x / middle - 1) for x in ratios)
    found = {"seconds": statistics.median(x for x, _ in pairs), "ratio": middle}
    found["noise"] = max(noise, LEAST_NOISE)
    return {name: float(f"{x:.4g}") for name, x in found.items()}


def table(found: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[str]:
    """A line for every row; ">" marks a change."""
    titles = ("kinetree", "ratio", "stored", "change", "noise")
    yield f"  {'row | peer':44}" + "".join(f"{x:>10}" for x in titles)
    for name in sorted(found.keys() | stored.keys(), key=[*found, *stored].index):
        now, old = found.get(name), stored.get(name)
        if now is None:
            yield f"  {name:44}  is not measured here: gcc or Crocoddyl is missing"
            continue
        line = f"{name:44}{time_text(now['seconds']):>10}{now['ratio']:10.4g}"
        if old is None:
            yield f"  {line}{'':20}{now['noise']:10.1%}"
            continue
        change, noise = now["ratio"] / old["ratio"] - 1, max(now["noise"], old["noise"])
        mark = (">", "slower" if change < 0 else "faster") if abs(change) > 2 * noise else (" ", "")
        yield f"{mark[0]} {line}{old['ratio']:10.4g}{change:10.1%}{noise:10.1%} {mark[1]}".rstrip()


def time_text(seconds: float) -> str:
    """Three digits, with a unit."""
    unit, size = next((x for x in (("ms", 1e-3), ("us", 1e-6)) if seconds >= x[1]), ("ns", 1e-9))
    return f"{seconds / size:.3g} {unit}"


def machine() -> str:
    """Processor and versions, which ratios depend on."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [x.partition(":")[2].strip() for x in text.splitlines() if x.startswith("model name")]
    packages = [f"{x} {version(x)}" for x in ("numpy", "llvmlite", "pin", "mujoco", "casadi")]
    return ", ".join([*names[:1], f"Python {sys.version.split()[0]}", *packages])


def main() -> None:
    """Print the table; `--store` renews the stored one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--round", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.round:
        print(json.dumps(round_of_rows(given.round)))
        return
    stored = json.loads(STORED.read_text()) if STORED.exists() else {"machine": "", "rows": {}}
    busy, rows = os.getloadavg()[0], measured()
    print(*table(rows, stored["rows"]), sep="\n")
    if not SOLVERS.exists():
        print("Crocoddyl is left out: `make .venv-solvers/.bench` installs it.")
    if stored["machine"] != machine():
        print(f"The stored run is of another machine or package: {stored['machine'] or 'none'}.")
    if busy > 0.5:
        print(f"The load was {busy:.1f} at the beginning: measure again on an idle machine.")
    if given.store:
        lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(x)}" for k, x in rows.items())
        STORED.write_text(f'{{"machine": {json.dumps(machine())}, "rows": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main()
