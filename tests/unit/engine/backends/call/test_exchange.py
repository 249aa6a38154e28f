"""Tensors read in machine code: the results, errors and records of tensors read in Python."""

import gc
import sys

import pytest

from kinetree.engine.tensors import torch_calls
from tensor_robots import arm, state
from tensor_torch import IN_CODE, torch

pytestmark = pytest.mark.skipif(not IN_CODE, reason="no C functions of DLPack in torch or Python")


def given(batch=(4,), dtype="float64"):
    kernel = arm().compile("inverse_dynamics")
    return kernel, [torch.from_numpy(x.astype(dtype)) for x in state(arm(), kernel, batch)]


def test_references_are_given_back():
    kernel, x = given()
    moving = [y.clone().requires_grad_() for y in x]
    short = [*x[:2], torch.zeros(4, 3, dtype=torch.float64)]
    before = [sys.getrefcount(y) for y in (*x, *moving, *short)]
    for _ in range(3):
        kernel(*x)
        kernel(*moving)
        torch_calls.READ_IN_CODE[0](*x)
        torch_calls.READ_IN_CODE[0](x[0].t())
        with pytest.raises(ValueError, match="expects"):
            kernel(*short)
    gc.collect()  # frames of the errors
    assert [sys.getrefcount(y) for y in (*x, *moving, *short)] == before
    result = kernel(*x)
    assert sys.getrefcount(result) == 2


# another device: the host's tensors, described as those of a GPU
