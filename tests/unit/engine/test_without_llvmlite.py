"""Without llvmlite: everything can be imported, kernels are interpreted, and what needs no kernel
works without a warning. One process runs it all, with llvmlite blocked; this one compares."""  # noqa: D205, D209

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers, dynamics

ROOT = Path(__file__).resolve().parents[3]
COMPUTING = ("id panda --q 0 0 0 -1 0 1 0", "fd rp", "terms cart_pole")
COMPUTING += ("simulate cart_pole --duration 0.01 --dt 0.002 --method rk4",)
LINKS = 100


def digest(*results: object) -> str:
    """Hash of the bits of arrays and texts."""
    found = hashlib.sha256()
    for x in results:
        found.update(x.encode() if isinstance(x, str) else np.ascontiguousarray(x).tobytes())
    return found.hexdigest()


def needs_no_kernel() -> dict[str, str]:
    """Hashes of results that no kernel computes."""
    arm = kt.robots.planar_2r()
    state = [0.3, -0.7], [1.0, 2.0], [0.5, -1.5]
    forms = [
        dynamics.inverse_dynamics(arm.model, *state, formulation=x) for x in dynamics.FORMULATIONS
    ]
    languages = ("matlab", "casadi")
    texts = [str(kt.export(arm, "inverse_dynamics", language=x)) for x in languages]
    return {
        "textbook": digest(*forms, dynamics.mass_matrix(arm.model, state[0])),
        "symbols": digest(str(kt.symbolic(arm).M.text())),
        "export": digest(*texts),
        "explain": digest(str(arm.explain(*state))),
        "report": digest(str(arm.report)),
        "files": digest(kt.convert.to_urdf(kt.robots.panda())),
    }


def chain(count: int) -> kt.Robot:
    """Revolute joints in a row."""
    inertia = '<inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.011" iyz="0" izz="0.012"/>'
    parts = [
        f'<link name="l{i}"><inertial><origin xyz="0.01 0.02 0.1"/><mass value="1.{i}"/>{inertia}'
        f'</inertial></link><joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
        f'<child link="l{i}"/><origin xyz="0.01 0 0.2" rpy="0.1 0.2 0.3"/><axis xyz="0.6 0 0.8"/>'
        "</joint>"
        for i in range(1, count + 1)
    ]
    return kt.load_string(f'<robot name="chain"><link name="l0"/>{"".join(parts)}</robot>')


def numbers(*results: object) -> list[float]:
    """The numbers of all arrays."""
    return [float(x) for array in results for x in np.ravel(array)]


def kernels() -> dict[str, list[float]]:
    """Results of kernels of all kinds."""
    draw = np.random.default_rng(21)
    arm, cart = kt.robots.panda(), kt.robots.cart_pole()
    q, dq, ddq = draw.uniform(-1, 1, (3, 7))
    many = draw.uniform(-1, 1, (3, 40, 2))
    narrow = [x.astype(np.float32) for x in (q[:2], dq[:2], ddq[:2])]
    out = np.empty(7)
    found = {"one state": numbers(arm.inverse_dynamics(q, dq, ddq))}
    arm.inverse_dynamics(q, dq, ddq, out=out)
    names = cart.model.joint_names
    named = [dict(zip(names, x[0].tolist(), strict=True)) for x in many]
    by_name = cart.inverse_dynamics(*named)
    bar = kt.robots.four_bar()
    closed = kt.constraints.project(bar, [0.5, 0.5, -1.0])
    long, still = chain(LINKS), np.zeros((2, 3))
    pd = controllers.PD([0.0, 0.1], kp=20.0, kd=2.0)
    run = {"duration": 0.01, "dt": 0.002, "method": "rk4", "limits": "ignore"}
    return found | {
        "out": numbers(out),
        "batch": numbers(cart.forward_dynamics(*many)),
        "two axes": numbers(cart.forward_dynamics(many[0][:4].reshape(2, 2, 2), *many[1:, 0])),
        "float32": numbers(cart.inverse_dynamics(*narrow)),
        "names": numbers([by_name[x] for x in names]),
        "nan": numbers(np.isnan(cart.forward_dynamics([0.1, np.nan], dq[:2], ddq[:2]))),
        "infinity": numbers(np.isnan(cart.mass_matrix([0.0, np.inf]))),
        "large angles": numbers(cart.mass_matrix([1.0, 1e6]), cart.mass_matrix([1.0, -1e300])),
        "derivatives": numbers(*cart.inverse_dynamics_derivatives(q[:2], dq[:2], ddq[:2])),
        "matrices": numbers(arm.mass_matrix(q), arm.body_jacobian(q)),
        "constraints": numbers(closed, *kt.constraints.forward_dynamics(bar, closed, *still)),
        "step": numbers(*cart.compile("step_rk4")(q[:2], dq[:2], ddq[:2], 0.01)),
        "loops": numbers(long.inverse_dynamics(*draw.uniform(-1, 1, (3, LINKS)))),
        "simulate": numbers(cart.simulate(q0=[0.1, 0.2], **run).q),
        "controller": numbers(cart.simulate(q0=[0.1, 0.2], controller=pd, **run).q),
        "rollouts": numbers(cart.simulate(q0=many[0][:35], **run).q),
    }


def refused() -> str:
    """The error of a plan, which needs machine code."""
    costs = {"effort": kt.optimal.Effort(weight=1e-3)}
    problem = kt.optimal.Problem(kt.robots.planar_2r(), dt=0.02, steps=3, costs=costs)
    try:
        problem.solve([0.1, 0.2])
    except kt.errors.MissingPackageError as error:
        return str(error)
    return ""


def blocked() -> dict[str, object]:
    """What the process without llvmlite reports."""
    import contextlib
    import importlib
    import pkgutil
    import warnings

    from kinetree.cli import main
    from kinetree.engine import interpreted

    seen: list[str] = []
    warnings.simplefilter("always", interpreted.SlowKernelWarning)
    warnings.showwarning = lambda message, kind, *_: seen.append(f"{kind.__name__}: {message}")

    def run(words: str) -> list[object]:
        """Exit code, stdout and stderr of a command, as in a process of its own."""
        interpreted._warned = False
        sys.argv = ["kinetree", *words.split()]
        shown, code = warnings.showwarning, 0
        with Path("out").open("w+") as out, Path("err").open("w+") as err:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    main()
                except SystemExit as end:
                    code = end.code or 0
                finally:
                    warnings.showwarning = shown
        return [code, Path("out").read_text(), Path("err").read_text()]

    found: dict[str, object] = {"quiet": needs_no_kernel()}
    found["warned early"] = list(seen)
    found["kernels"] = kernels()
    found["warned"] = list(seen)
    found["refused"] = refused()
    modules = [x.name for x in pkgutil.walk_packages(kt.__path__, "kinetree.")]
    for name in modules:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    found |= {"modules": len(modules), "llvmlite": "llvmlite" in sys.modules}
    found["computing commands"] = {words: run(words) for words in COMPUTING}
    return found


BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "llvmlite":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
sys.path.insert(0, sys.argv[1])
import json
import test_without_llvmlite
found = test_without_llvmlite.blocked()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The report of the process in which llvmlite cannot be imported."""
    command = [sys.executable, "-c", BLOCK, str(Path(__file__).parent)]
    cache = str(tmp_path_factory.mktemp("cache"))
    settings = os.environ | {"KINETREE_CACHE_DIR": cache, "COLUMNS": "120"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cache, env=settings, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_module_can_be_imported(found):
    assert found["modules"] > 400 and not found["llvmlite"]


def test_textbook_symbols_and_export_are_the_same_and_need_no_warning(found):
    assert found["quiet"] == needs_no_kernel()
    assert found["warned early"] == []


def test_plans_are_refused(found):
    assert "llvmlite cannot be imported" in found["refused"]


def test_interpreted_kernels_have_the_results_of_compiled_ones(found):
    for name, expected in kernels().items():
        rtol = 1e-3 if name == "float32" else 1e-9
        np.testing.assert_allclose(found["kernels"][name], expected, rtol, 1e-9, err_msg=name)


def test_one_warning_states_what_is_missing_and_what_to_do(found):
    (text,) = found["warned"]
    assert text.startswith("SlowKernelWarning: llvmlite cannot be imported (No module named")
    assert text.endswith("pip install llvmlite.")


def test_commands_that_compute_warn_once_in_one_paragraph(found):
    for words, (code, out, err) in found["computing commands"].items():
        assert code == 0 and out, (words, err)
        assert len(re.findall("kinetree: llvmlite cannot be imported", err)) == 1, (words, err)
        assert "Traceback" not in err and "Warning" not in err, (words, err)
