"""Compile, load, let go."""

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from kinetree.engine import Kernel
from kinetree.engine.llvm import engine


def resident() -> int:
    """Memory of this process in bytes, 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * 4096 if statm.exists() else 0


def test_kernels_come_and_go(monkeypatch, living, scale):
    monkeypatch.setenv("KINETREE_CACHE", "0")
    monkeypatch.setattr(engine, "level", lambda text: 0)  # what the code is like is not asked here

    def cycle(k):
        kernel = Kernel(scale(float(k)), dtypes=("float64",))
        assert kernel(np.array(2.0)) == 2.0 * k
        assert kernel(np.arange(3.0))[2] == 2.0 * k

    for k in range(20):  # let allocators reach their working size
        cycle(k)
    before = resident()
    for k in range(60):
        cycle(k)
        assert len(living) <= 1
    gc.collect()
    assert len(living) == 0
    assert resident() - before < 16 << 20


def test_eight_threads_make_kernels_at_once(monkeypatch, scale):
    monkeypatch.setenv("KINETREE_CACHE", "0")

    def make(k):
        return Kernel(scale(float(k)))(np.arange(3.0))[2]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(make, range(16))) == [2.0 * k for k in range(16)]


INTERRUPTED = """
import gc
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.target import host_target

def interrupt(*_):
    raise KeyboardInterrupt

TEXT = "define double @f(double %a) { ret double %a }"
make, engine.target_machine = engine.target_machine, interrupt
try:
    engine.assemble(TEXT, host_target())
except KeyboardInterrupt as problem:
    problem.itself = problem
gc.collect()
engine.target_machine = make
print(len(engine.assemble(TEXT, host_target())) > 0)
"""


def test_an_interruption_between_parsing_and_code_generation_frees_the_module_once():
    """Its frames, in a cycle, are freed by the collector, in an order of its own."""
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_importing_kernels_imports_no_llvm():
    code = "import sys, kinetree.engine.kernel; print('llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
