"""Ways to compute a quantity: name -> function of a case that returns its results.

Those of BITS must give the bits of the kernel. The others return one state or all of them.
"""

import ctypes
import hashlib
import subprocess
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from matrix_cases import Case, listed
from matrix_robots import recipe

import kinetree as kt


def one_by_one(case: Case) -> list:
    """Each state alone."""
    rows = [listed(case.kernel(*(a[k] for a in case.arrays))) for k in range(len(case.arrays[0]))]
    return [np.array(x) for x in zip(*rows, strict=True)]


def strided(case: Case) -> list:
    """Arguments with gaps, the last one backwards."""
    spread = [np.repeat(a, 2, 0)[::2] for a in case.arrays[:-1]]
    return listed(case.kernel(*spread, case.arrays[-1][::-1].copy()[::-1]))


def into(case: Case) -> list:
    """Into arrays that begin at odd places and are Fortran's."""
    out = [np.asfortranarray(np.full_like(x, np.nan)) for x in case.result]
    case.kernel(*case.arrays, out=out[0] if len(out) == 1 else tuple(out))
    return out


def nested(case: Case) -> list:
    """With two leading axes, on two threads."""
    with kt.kernels.threads(2):
        found = listed(case.kernel(*(np.stack([a, a, a]) for a in case.arrays)))
    return [x[1] for x in found]


BITS = {"one by one": one_by_one, "strided": strided, "out": into, "nested": nested}


def plain(case: Case, model=None, arrays=None) -> list:
    """The function of kt.dynamics at the first state."""
    arrays = [a[0] for a in case.arrays] if arrays is None else arrays
    model = case.robot.model if model is None else model
    if case.name.startswith("step_"):
        method = case.name.removeprefix("step_").partition("_with_")[0]
        state = dict(zip(case.inputs, arrays, strict=True))
        return listed(kt.dynamics.step(model, **state, method=method))
    name = {"link_poses": "forward_kinematics"}.get(case.name, case.name)
    if recipe(case.robot_name).constraints and name.startswith(("inverse_dyn", "forward_dyn")):
        name = f"constrained_{name.removeprefix('constrained_')}"
    function, more = getattr(kt.dynamics, name), dict(case.options)
    if case.name == "contact_inverse_dynamics":
        arrays, more = [*arrays[:3], arrays[4]], {"contacts": arrays[3]}
    found = function(model, *arrays, **more)
    if case.name in ("contact_inverse_dynamics", "task_space"):
        return [getattr(found, x.letter) for x in case.quantity.results]
    found = list(found) if isinstance(found, tuple) or hasattr(found, "_fields") else [found]
    return found[: len(case.quantity.results)]


def fifty_digits(case: Case) -> list:
    """The same function on mpmath numbers, as decimal numbers."""
    number = np.vectorize(mpmath.mpf, otypes=[object])
    text = np.vectorize(lambda v: Decimal(mpmath.nstr(+mpmath.mpmathify(v), 50)), otypes=[object])
    with mpmath.workdps(50):
        model = case.robot.model.astype(mpmath.mpf)
        found = plain(case, model, [number(a[0]) for a in case.arrays])
        return [np.asarray(text(x), object) for x in found]


def symbols(case: Case) -> list:
    """The same function on symbols, at the first state."""
    sympy = pytest.importorskip("sympy")
    numbers = [v for a in case.arrays for v in a[0].ravel()]
    letters = [sympy.Symbol(f"x{k}", real=True) for k in range(len(numbers))]
    at, arguments = iter(letters), []
    for a in case.arrays:
        x = np.array([next(at) for _ in range(a[0].size)], object).reshape(a.shape[1:])
        arguments.append(x if x.ndim else x[()])
    found = plain(case, arrays=arguments)
    flat = [sympy.sympify(v) for x in found for v in np.ravel(x)]
    values = sympy.lambdify(letters, flat, cse=True)(*numbers)
    parts = np.split(np.array(values, float), np.cumsum([np.size(x) for x in found])[:-1])
    return [p.reshape(np.shape(x)) for p, x in zip(parts, found, strict=True)]


def exported(case: Case, language: str, folder) -> list:
    """The exported code at all states."""
    text = kt.export(case.robot, case.name, language, name="exported", **case.compile_options)
    names: dict = {}
    if language != "c":
        exec(text, names)
    if language == "numpy":
        return listed(names["exported"](*case.arrays))
    if language == "casadi":
        function = names["exported"]()
        rows = [listed(function(*(a[k] for a in case.arrays))) for k in range(len(case.arrays[0]))]
        columns = zip(zip(*rows, strict=True), case.result, strict=True)
        return [np.reshape([np.array(y) for y in x], want.shape) for x, want in columns]
    source, library = folder / f"{case}.c", folder / f"{case}.so"
    source.write_text(text)
    command = ["gcc", "-std=c99", "-O0", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    f, out = ctypes.CDLL(str(library)).exported, [np.empty_like(x) for x in case.result]
    if case.result[0].ndim == len(case.result) == 1:  # one number is the value of the function
        f.restype = ctypes.c_double
        return [np.array([f(*pointers(a[k] for a in case.arrays)) for k in range(len(out[0]))])]
    for k in range(len(out[0])):
        rows = [np.ascontiguousarray(x[k]) for x in out]
        f(*pointers(a[k] for a in case.arrays), *(ctypes.c_void_p(x.ctypes.data) for x in rows))
        for x, row in zip(out, rows, strict=True):
            x[k] = row.reshape(x[k].shape)
    return out


def pointers(arrays):
    """Arguments of a function in C: numbers, and addresses of arrays."""
    for a in arrays:
        yield ctypes.c_void_p(a.ctypes.data) if a.ndim else ctypes.c_double(a)


def digest(results: list) -> str:
    """A hash of the bits; -0 counts as 0."""
    return hashlib.sha256(b"".join((np.asarray(x) + 0.0).tobytes() for x in results)).hexdigest()


def torch_gradients(case: Case, weights: list) -> tuple[list, list]:
    """Results of torch, and the gradients of their weighted sum by all arguments."""
    torch = pytest.importorskip("torch")
    given = [torch.tensor(a, requires_grad=True) for a in case.arrays]
    found = listed(case.kernel(*given))
    loss = sum((x * torch.tensor(w)).sum() for x, w in zip(found, weights, strict=True))
    slopes = torch.autograd.grad(loss, given, allow_unused=True, materialize_grads=True)
    return [x.detach().numpy() for x in found], [x.numpy() for x in slopes]


def jax_gradients(case: Case, weights: list) -> tuple[list, list]:
    """The same of JAX, in a compiled program."""
    jax = pytest.importorskip("jax")

    def loss(*given):
        found = listed(case.kernel(*given))
        return sum((x * w).sum() for x, w in zip(found, weights, strict=True))

    every = tuple(range(len(case.arrays)))
    with jax.enable_x64() if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        found = listed(jax.jit(case.kernel)(*map(jax.numpy.asarray, case.arrays)))
        slopes = jax.jit(jax.grad(loss, every))(*map(jax.numpy.asarray, case.arrays))
        return [np.asarray(x) for x in found], [np.asarray(x) for x in slopes]
