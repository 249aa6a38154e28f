"""Difference between the results of a GPU and of the CPU, in eps of the norm of each result."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.gpu_cases import new_run
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.cuda.rollout import CudaRollout

ALLOWED = {"float32": 8, "float64": 4}  # eps, norm-wise


def kernel_error(kernel: CudaKernel, dtype: str, data: Mapping[str, np.ndarray]) -> float:
    """The largest difference for any state; outputs are filled with NaN before."""
    import cupy

    ports = kernel.graph.inputs, kernel.graph.outputs
    given = [cupy.asarray(data[f"{dtype} in {k}"]) for k in range(len(ports[0]))]
    expected = [data[f"{dtype} out {k}"] for k in range(len(ports[1]))]
    out = tuple(cupy.full(x.shape, np.nan, dtype) for x in expected)
    kernel(*given, out=out)
    return max(distance(x, y, dtype, 1) for x, y in zip(out, expected, strict=True))


def rollout_error(rollout: CudaRollout, dtype: str, data: Mapping[str, np.ndarray]) -> float:
    """The largest difference of any recorded row; the notes must be the same."""
    import cupy

    run = new_run(cupy, data, rollout.stepping, dtype)
    rollout.run(run)
    if not np.array_equal(cupy.asnumpy(run.first), data[f"{dtype} first"]):
        return float("inf")
    expected = [data[f"{dtype} record {k}"] for k in range(len(run.records))]
    return max(distance(x, y, dtype, 2) for x, y in zip(run.records, expected, strict=True))


def distance(found: Any, expected: np.ndarray, dtype: str, axes: int) -> float:
    """The largest |x - y| / |y| of results behind the first axes; infinite where one is missing."""
    import cupy

    shape = (int(np.prod(expected.shape[:axes])), -1)
    x, y = [a.reshape(shape).astype(float) for a in (cupy.asnumpy(found), expected)]
    same = (x == y) | (np.isnan(x) & np.isnan(y) & np.isnan(expected.reshape(shape)))
    with np.errstate(all="ignore"):
        ratio = np.linalg.norm(x - y, axis=1) / np.linalg.norm(y, axis=1)
    ratio = np.where(same.all(axis=1), 0.0, np.where(np.isfinite(ratio), ratio, np.inf))
    return float(np.max(ratio, initial=0.0)) / float(np.finfo(dtype).eps)
