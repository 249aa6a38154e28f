"""Help of public callables: its examples print what it shows, and stored signatures are true."""

import ast
import doctest
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
table = pytest.importorskip("method_table", reason="tools/ is not part of this distribution")
stubs = pytest.importorskip("write_stubs", reason="tools/ is not part of this distribution")
public, parameters = table.public, table.parameters


def test_every_public_callable_and_argument_is_described():
    assert len(public()) > 300
    for path, thing in public().items():
        assert len(inspect.getdoc(thing) or "") >= 8, path


@pytest.mark.parametrize("path", [x for x, y in public().items() if ">>>" in (y.__doc__ or "")])
def test_examples_print_what_help_shows(path):
    names = {"kt": kt, "np": np}
    (test,) = doctest.DocTestFinder(recurse=False).find(
        doctest_target(public()[path]), path, globs=names
    ) or [None]
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    assert not report, "".join(report)


def doctest_target(thing):
    """An object with the docstring alone, since doctest looks into modules and classes."""

    def example():
        pass

    example.__doc__ = inspect.getdoc(thing)
    return example


def test_the_stored_signatures_attributes_and_errors_are_those_of_the_code():
    assert table.MEMBERS.read_text(encoding="utf-8") == table.members(), "run tools/method_table.py"


def test_the_types_for_editors_have_every_quantity():
    functions = kt.dynamics.__all__
    for text, names in (
        (stubs.robot_stub(), stubs.DECLARED.methods),
        (stubs.dynamics_stub(), functions),
    ):
        found = {x.name for x in ast.walk(ast.parse(text)) if isinstance(x, ast.FunctionDef)}
        listed = {x.asname or x.name for x in ast.walk(ast.parse(text)) if isinstance(x, ast.alias)}
        assert set(names) <= found | listed


def test_kernels_show_their_arguments():
    robot = kt.robots.planar_2r()
    kernel = robot.inverse_dynamics
    assert str(inspect.signature(kernel)) == "(q, dq, ddq, F_ext=None, *, out=None, **options)"
    assert str(inspect.signature(robot.mass_matrix)) == "(q, *, out=None, **options)"
    assert kernel.__doc__.endswith(f"compiled for {robot.name!r}: n = 2, nq = 2, l = 2.")
    free = robot.compile("inverse_dynamics", wrenches=True, free=["mass", "friction"])
    assert list(inspect.signature(free).parameters)[:3] == ["q", "dq", "ddq"]
    slope = robot.derivative("pose", free=["gravity"])
    assert "Derivatives of pose by q" in slope.__doc__ and "(..., 4, 4, 2)" in slope.__doc__
    signature = "(self, q, dq, ddq, F_ext=None, *, out=None, **options)"
    assert str(inspect.signature(kt.Robot.inverse_dynamics)) == signature
    q = [0.1, 0.2]
    assert kt.Robot.gravity_forces(robot, q).tobytes() == robot.gravity_forces(q).tobytes()
