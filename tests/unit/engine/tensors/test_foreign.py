"""The functions for arrays of other packages; no package is imported before its first array."""

import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.call.foreign import foreign_call
from kinetree.engine.tensors import jax as jax_arrays
from kinetree.engine.tensors import torch as torch_arrays
from kinetree.errors import MissingPackageError


def test_numpy_and_plain_numbers_have_no_function():
    assert [
        foreign_call(type(x)) for x in (np.zeros(2), np.float64(1), [1], (1,), 1, 1.5, "a")
    ] == [None] * 7


def test_a_type_is_known_by_its_package(monkeypatch):
    kind = type("Array", (), {"__module__": "cupy._core.core"})
    derived = type("Mine", (kind,), {"__module__": "my.package"})
    assert foreign_call(kind) is foreign_call(derived) is not None
    assert foreign_call(type("Tensor", (), {"__module__": "torchvision"})) is None


def test_neither_import_nor_a_numpy_call_loads_another_package():
    code = (
        "import sys, numpy as np, kinetree as kt; r = kt.robots.planar_2r();"
        "r.mass_matrix(np.zeros((3, 2))); r.mass_matrix([[0, 0]]);"
        "print([x for x in ('cupy', 'jax', 'jaxlib', 'torch') if x in sys.modules],"
        " [x for x in sys.modules if 'kinetree.engine.tensors.' in x])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] []"


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("torch", torch_arrays.make_call),
        (
            "jax",
            lambda: jax_arrays.call(kt.robots.planar_2r().mass_matrix._dispatch, ([0, 0],), {}),
        ),
        ("jax", jax_arrays.primitive.__wrapped__),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_install_it(package, use, monkeypatch):
    torch_arrays.torch.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"pip install 'kinetree\[{package}\]'"):
        use()
