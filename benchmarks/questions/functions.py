"""Functions: exp, log, tanh and atan2, beside NumPy's (SVML or libm) and libm's called from C."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peers import Absent
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree import scalars
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel

FUNCTION = "function, one number"
STATES, WIDTH = 256, 16  # 32 KiB in and as many out, which stay in the cache
NUMPY = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "atan2": np.arctan2}
AGREEMENT = 4 * np.finfo(float).eps
LIBM = """
#include <math.h>
void run(const double *x, const double *y, double *out, long n)
{
    for (long k = 0; k < n; ++k) out[k] = %s;
}
"""


def ask(robot: str, effort: Effort) -> Answer:
    """Every function on one core; a peer that finds other numbers is not timed."""
    answer = Answer()
    with one_core():
        for name in NUMPY:
            of_one(answer, name, effort)
    return answer


def of_one(answer: Answer, name: str, effort: Effort) -> None:
    """The kernel, NumPy's function and libm's."""
    rng = np.random.default_rng(6)
    x, y = rng.uniform(0.1, 3, (2, STATES, WIDTH))
    given = (x, y) if name == "atan2" else (x,)
    function = getattr(scalars, name)
    ports = [Port(f"x{k}", (WIDTH,)) for k in range(len(given))]
    kernel = Kernel(
        trace(lambda *a: np.array([function(*row) for row in zip(*a, strict=True)]), ports),
        name,
        dtypes=("float64",),
    )
    out = np.empty_like(x)
    names = {"f": kernel, "given": given, "out": out, "numpy": NUMPY[name]}
    jobs = {
        "kinetree": Job("f(*given, out=out)", names, lambda: kernel(*given)),
        "NumPy": Job("numpy(*given, out=out)", names, lambda: NUMPY[name](*given)),
    }
    try:
        jobs["libm, called from C"] = libm_job(name, x, y)
    except Absent as missing:
        answer.notes.append(f"{FUNCTION}: libm is not measured: {missing}")
    expected = jobs["kinetree"].result()
    for who, job in list(jobs.items()):
        error = np.abs(job.result() / expected - 1).max()
        if not error < AGREEMENT:
            answer.notes.append(f"{FUNCTION}: {who} is not measured: {name} is {error:.1e} away")
            del jobs[who]
    answer.rows += timing_rows(FUNCTION, "", name, side_by_side(jobs, effort, x.size), x.size)


def libm_job(name: str, x: np.ndarray, y: np.ndarray) -> Job:
    """A loop in C over the function of the system's libm."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise Absent("there is no C compiler")
    call = f"{name}(x[k], y[k])" if name == "atan2" else f"{name}(x[k])"
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "f.c", Path(folder) / "f.so"
        source.write_text(LIBM % call)
        command = [compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        run = ctypes.CDLL(str(library)).run
    out = np.empty_like(x)
    arguments = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, out)]
    arguments.append(ctypes.c_long(x.size))

    def result() -> np.ndarray:
        run(*arguments)
        return out

    return Job("run(*arguments)", {"run": run, "arguments": arguments}, result)
