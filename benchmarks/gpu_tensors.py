"""Speed of kernels on this GPU when called with arrays of CuPy, torch and JAX.

    python -m benchmarks.gpu_tensors               # with CuPy and any of torch and JAX

Whole calls are timed by the clock, results waited for after ten of them: what a package and Python
add to the kernel is part of it. Results are compared with NumPy's first.
"""

import argparse
import importlib
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.gpu_record import about
from benchmarks.machine import commit

STATES, CHECKED = 2**23, 1000
REPEATS, CALLS = 10, 10
ALLOWED = {"float32": 8 * 2.0**-23, "float64": 4 * 2.0**-52}  # norm-wise, as for CUDA kernels
QUANTITIES = ("inverse_dynamics", "forward_dynamics")
GRADIENT = "inverse_dynamics and its gradient"

Work = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """1e9 states a second, the median and the best of all repeats."""

    package: str
    quantity: str
    dtype: str
    median: float
    best: float


@dataclass(frozen=True)
class Package:
    """How arrays are made, read and waited for, and what computes a kernel and its gradient."""

    name: str
    version: str
    array: Callable[[np.ndarray], Any]
    back: Callable[[Any], np.ndarray]
    wait: Callable[[Any], Any]
    function: Callable[[Any], Any] = lambda kernel: kernel
    gradient: Callable[[Any, Any], Work] | None = None


def cupy_package() -> Package:
    """Plain calls on CuPy's current stream."""
    cp = importlib.import_module("cupy")
    return Package(
        "CuPy", cp.__version__, cp.asarray, cp.asnumpy, lambda _: cp.cuda.Device().synchronize()
    )


def torch_package() -> Package:
    """Plain calls, and a call with its backward step."""
    torch = importlib.import_module("torch")

    def gradient(kernel: Any, arrays: Any) -> Work:
        given = [x.clone().requires_grad_() for x in arrays]
        weights = torch.ones_like(arrays[0])
        return lambda: torch.autograd.grad(kernel(*given), given, weights)

    return Package(
        "torch",
        torch.__version__,
        lambda x: torch.from_numpy(x).cuda(),
        lambda x: x.cpu().numpy(),
        lambda _: torch.cuda.synchronize(),
        gradient=gradient,
    )


def jax_package() -> Package:
    """Compiled functions, and the gradient of a sum."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)

    def gradient(kernel: Any, arrays: Any) -> Work:
        found = jax.jit(jax.value_and_grad(lambda *x: kernel(*x).sum(), argnums=(0, 1, 2)))
        return lambda: found(*arrays)

    return Package(
        "JAX, jit",
        jax.__version__,
        jax.numpy.asarray,
        np.asarray,
        jax.block_until_ready,
        jax.jit,
        gradient,
    )


def packages() -> Iterator[Package]:
    """Those that are installed."""
    for make in (cupy_package, torch_package, jax_package):
        try:
            yield make()
        except ImportError as problem:
            print(f"left out: {problem}")


def measure(package: Package, dtype: str) -> Iterator[Row]:
    """All rows of a package."""
    robot, rng = kt.robots.panda(), np.random.default_rng(1)
    host = [rng.standard_normal((STATES, 7)).astype(dtype) for _ in range(3)]
    arrays = [package.array(x) for x in host]
    for quantity in QUANTITIES:
        kernel = getattr(robot, quantity)
        function = package.function(kernel)
        check(package, function, kernel, [x[:CHECKED] for x in host], dtype)
        yield timed(package, quantity, dtype, lambda f=function: f(*arrays))
    if package.gradient is not None:
        work = package.gradient(robot.inverse_dynamics, arrays)
        yield timed(package, GRADIENT, dtype, work)


def check(package: Package, function: Any, kernel: Any, host: list[np.ndarray], dtype: str) -> None:
    """Raise an error if results differ from NumPy's for any state."""
    found = package.back(function(*map(package.array, host)))
    expected = kernel(*host)
    error = np.linalg.norm(found - expected, axis=-1) / np.linalg.norm(expected, axis=-1)
    # forward dynamics solves with M, whose condition magnifies rounding on both sides
    bound = ALLOWED[dtype] * (1 if kernel.name == "inverse_dynamics" else 1000)
    if found.dtype != dtype or not error.max() <= bound:
        raise SystemExit(f"{package.name}, {kernel.name}, {dtype}: differs by {error.max():.1e}")


def timed(package: Package, quantity: str, dtype: str, work: Work) -> Row:
    """Rates of whole calls."""
    package.wait(work())
    rates = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(CALLS):
            result = work()
        package.wait(result)
        rates.append(STATES * CALLS / (time.perf_counter() - start) / 1e9)
    return Row(package.name, quantity, dtype, sorted(rates)[REPEATS // 2], max(rates))


def markdown(record: dict[str, Any], rows: list[Row]) -> str:
    """The record as Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    lines = [
        f"# Tensors on a GPU, {record['date']}",
        "",
        f"{record['gpu']}. Commit {record['commit']}. {versions}.",
        f"`python -m benchmarks.gpu_tensors`: Panda, 7 joints, {STATES} states in a call; whole "
        f"calls by the clock, {CALLS} in a row, {REPEATS} repeats; 1e9 states a second. The "
        "gradient is that of the sum of all joint forces along q, dq and ddq.",
        "",
        "| package | quantity | | median | best |",
        "|---|---|---|---|---|",
        *(
            f"| {r.package} | {r.quantity} | {r.dtype} | {r.median:.1f} | {r.best:.1f} |"
            for r in rows
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", help="of the source, where git is not at hand")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # CPU kernels may be interpreted here, which is slow and right
    record, rows = about(options.commit or commit()), []
    for package in packages():
        record["versions"][package.name.partition(",")[0].lower()] = package.version
        for dtype in ALLOWED:
            rows += measure(package, dtype)
    name = "-".join(record["gpu"].lower().replace("nvidia", "").split())
    target = options.results / f"{record['date'][:10]}-{name}-tensors"
    everything = {**record, "rows": [asdict(row) for row in rows]}
    target.with_suffix(".json").write_text(json.dumps(everything, indent=1) + "\n")
    target.with_suffix(".md").write_text(markdown(record, rows))
    print(markdown(record, rows))


if __name__ == "__main__":
    main()
