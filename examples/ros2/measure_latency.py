"""Measure a loop of 1 kHz that computes inverse dynamics: exported C, and the call in Python.

python measure_latency.py [ROBOT] [SECONDS]         # Linux with g++; by default panda for 10 s

Prints percentiles in microseconds of two times: from the tick of the clock until the torques are
ready, which includes the delay of the operating system, and of the call alone.
"""

import argparse
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from export_robot import write_robot

import kinetree as kt

PERIOD = 0.001  # s
PERCENTILES = (50, 99, 99.9, 100)


def cpp_times(robot: kt.Robot, count: int) -> np.ndarray:
    """Times of the exported C, seconds, shape (count, 2): until the torques are ready, call."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in ("src", "include/kinetree_controllers"):
            (place / name).mkdir(parents=True)
        write_robot(robot, place)
        functions = [place / "src" / f"{x}.c" for x in ("gravity_forces", "inverse_dynamics")]
        objects = [path.with_suffix(".o") for path in functions]
        for source, made in zip(functions, objects, strict=True):
            subprocess.run(["gcc", "-std=c99", "-O2", "-c", source, "-o", made], check=True)
        sources = [place / "src/robot.cpp", Path(__file__).with_name("latency.cpp"), *objects]
        flags = ["-std=c++17", "-O2", f"-I{place / 'include'}"]
        subprocess.run(["g++", *flags, *sources, "-o", place / "latency"], check=True)
        printed = subprocess.check_output([place / "latency", str(count)], text=True)
    return 1e-9 * np.array(printed.split(), float).reshape(-1, 2)


def python_times(robot: kt.Robot, count: int) -> np.ndarray:
    """Times of `robot.inverse_dynamics`, as `cpp_times`."""
    phase, times = np.arange(robot.n), np.empty((count, 2))
    robot.inverse_dynamics(*np.zeros((3, robot.n)))  # compiles
    tick = time.perf_counter()
    for k in range(count):
        tick += PERIOD
        time.sleep(max(0.0, tick - time.perf_counter()))
        q, dq = np.sin(PERIOD * k + phase), np.cos(PERIOD * k + phase)
        begin = time.perf_counter()
        robot.inverse_dynamics(q, dq, -q)
        end = time.perf_counter()
        times[k] = end - tick, end - begin
    return times


def processor() -> str:
    """Name of the processor, its cores that this process may use, and the load of the machine."""
    names = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x]
    name = names[0].split(": ", 1)[1] if names else platform.machine()
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    state = "idle" if load < 0.2 * cores else "loaded"
    return f"{name}, {cores} cores, {state} (load average {load:.1f}), Linux {platform.release()}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", default="panda")
    parser.add_argument("seconds", nargs="?", type=float, default=10.0)
    words = parser.parse_args()
    machine, chosen = processor(), kt.load(words.robot)
    print(f"{chosen.name}, inverse dynamics at 1 kHz for {words.seconds:g} s; {machine}\n")
    print("| µs | median | 99 % | 99.9 % | longest |\n|---|---|---|---|---|")
    for language, measure in (("C++", cpp_times), ("Python", python_times)):
        measured = measure(chosen, round(words.seconds / PERIOD))
        rows = 1e6 * np.percentile(measured, PERCENTILES, axis=0).T
        for what, row in zip(("tick to torques", "call"), rows, strict=True):
            print(f"| {language}, {what} | " + " | ".join(f"{x:.1f}" for x in row) + " |")
