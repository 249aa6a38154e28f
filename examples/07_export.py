"""A robot's dynamics as source code: C for firmware, NumPy, MATLAB, Julia, CasADi."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import kinetree as kt

robot = kt.robots.panda()

# 1. C99: one function, no allocation, and the comment that a reader of firmware needs.
text = kt.export(robot, "inverse_dynamics", language="c", dtype="float")
print("\n".join(text.splitlines()[:16]), "\n...\n")

# 2. With a test driver: a main that compares the function with stored results of the kernel.
text = kt.export(robot, "inverse_dynamics", driver=True)
compiler = shutil.which("gcc")
if compiler is None:
    print("no gcc here to compile the driver with")
else:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "panda.c", Path(folder) / "panda"
        source.write_text(text)
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([compiler, *strict, source, "-o", program, "-lm"], check=True)
        run = subprocess.run([program], check=True, capture_output=True, text=True)
        print("the driver says:", run.stdout.strip())

# 3. NumPy: a module that needs nothing but NumPy, here executed at once.
names: dict = {}
exec(kt.export(robot, "mass_matrix", "numpy", name="mass_matrix"), names)
q = kt.dynamics.random(robot.model, np.random.default_rng(0))
error = np.abs(names["mass_matrix"](q) - robot.mass_matrix(q)).max()
print(f"exported NumPy and the kernel differ by {error:.1e} in M\n")

# 4. The other languages, with wrenches on the links.
for language in ("cpp", "matlab", "julia", "casadi"):
    text = kt.export(robot, "forward_dynamics", language, wrenches=True)
    print(f"{language:7} forward_dynamics: {len(text.splitlines())} lines")

# 5. Masses as an argument instead of constants in the code.
text = kt.export(kt.robots.scara(), "inverse_dynamics", "matlab", free=["mass"])
print(text.splitlines()[0])
