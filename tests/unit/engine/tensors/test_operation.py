"""Operations: their derivatives are operations, made once and known by what they compute."""

import subprocess
import sys

import pytest

from kinetree.engine import cache
from kinetree.engine.tensors.operation import Operation, operation_of
from kinetree.errors import MissingPackageError
from tensor_robots import arm


@pytest.fixture
def operation():
    return operation_of(arm().inverse_dynamics._dispatch)


def test_derivatives_are_made_once_and_kept_on_disk(operation, monkeypatch):
    assert operation.vjp((0,)) is operation.vjp((0,))
    again = Operation(operation.graph, operation.name)
    stored = []
    monkeypatch.setattr(cache, "store", lambda name, part, data: stored.append(name))
    assert again.vjp((0,)).digest == operation.vjp((0,)).digest
    assert not stored


def test_without_cupy_a_gpu_is_refused_with_the_way_out(operation, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    operation.__dict__.pop("cuda", None)
    with pytest.raises(MissingPackageError):
        _ = operation.cuda


def test_neither_import_nor_a_numpy_call_loads_another_package():
    code = (
        "import sys, numpy as np, kinetree as kt; r = kt.robots.planar_2r();"
        "r.mass_matrix(np.zeros((3, 2))); r.mass_matrix([[0, 0]]);"
        "print([x for x in ('cupy', 'jax', 'jaxlib', 'torch') if x in sys.modules],"
        " [x for x in sys.modules if 'kinetree.engine.tensors.' in x])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] []"
