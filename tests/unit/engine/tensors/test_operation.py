"""Operations: their derivatives are operations, made once and known by what they compute."""

import subprocess
import sys

import numpy as np
import pytest

from kinetree.engine.cache import entries as cache
from kinetree.engine.tensors.operation import Operation, operation_of
from kinetree.errors import MissingPackageError
from tensor_robots import arm, state


@pytest.fixture
def operation():
    return operation_of(arm().inverse_dynamics._dispatch)


def test_a_vjp_is_the_transpose_of_a_jvp(operation):
    """w . (J v) = (J^T w) . v for each choice of arguments."""
    x = state(arm(), arm().inverse_dynamics)
    rng = np.random.default_rng(0)
    w, *v = rng.normal(size=(4, 2))
    for wrt in ((0,), (1, 2), (0, 1, 2)):
        moved = [v[k] for k in wrt]
        forward = operation.jvp(wrt).call(*x, *moved)
        back = operation.vjp(wrt).call(*x, w)
        back = back if isinstance(back, tuple) else (back,)
        assert np.isclose(w @ forward, sum(a @ b for a, b in zip(back, moved, strict=True)))


def test_a_jvp_knows_what_it_is_the_derivative_of(operation):
    jvp = operation.jvp((0, 2))
    assert jvp.primal is operation and jvp.wrt == (0, 2)
    assert [p.name for p in jvp.inputs] == ["q", "dq", "ddq", "v_q", "v_ddq"]
    assert operation.vjp((0,)).primal is None


def test_derivatives_are_made_once_and_kept_on_disk(operation, monkeypatch):
    assert operation.vjp((0,)) is operation.vjp((0,))
    again = Operation(operation.graph, operation.name)
    stored = []
    monkeypatch.setattr(cache, "store", lambda key, data: stored.append(key))
    assert again.vjp((0,)).digest == operation.vjp((0,)).digest
    assert not stored


def test_without_cupy_a_gpu_is_refused_with_the_way_out(operation, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    operation.__dict__.pop("cuda", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'kinetree\[cuda\]'"):
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
