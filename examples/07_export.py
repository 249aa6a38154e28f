"""A robot's dynamics as source code: C for firmware and controllers, MATLAB, CasADi."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import kinetree as kt

robot = kt.robots.panda()

# 1. C: a function without allocation, a header for C and C++, and a self-test.
code = kt.export(robot, "inverse_dynamics", dtype="float", name="panda_id")
print("\n".join(code.header.splitlines()[:12]), "\n...\n")

# 2. The self-test compares the function with stored results of the kernel.
compiler = shutil.which("gcc")
if compiler is None:
    print("no gcc here to compile the self-test with")
else:
    with tempfile.TemporaryDirectory() as folder:
        source, _, test = code.save(Path(folder) / "panda_id.c")
        program = Path(folder) / "panda_id"
        flags = ["-std=c99", "-O2", "-DKINETREE_SELF_TEST_MAIN"]
        subprocess.run([compiler, *flags, source, test, "-o", program, "-lm"], check=True)
        run = subprocess.run([program], check=True, capture_output=True, text=True)
        print("the self-test says:", run.stdout.strip())

# 3. The other languages, with wrenches on the links.
for language in ("matlab", "casadi"):
    text = kt.export(robot, "forward_dynamics", language, wrenches=True).source
    print(f"{language:7} forward_dynamics: {len(text.splitlines())} lines")

# 4. Masses as an argument instead of constants in the code.
text = kt.export(kt.robots.scara(), "inverse_dynamics", "matlab", free=["mass"]).source
print(text.splitlines()[0])
