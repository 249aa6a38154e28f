"""Help of public callables: every argument with its meaning, arrays with a shape, and a unit."""

import ast
import doctest
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.quantities import WHOLE_BODY

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
table = pytest.importorskip("method_table", reason="tools/ is not part of this distribution")
stubs = pytest.importorskip("write_stubs", reason="tools/ is not part of this distribution")
public, parameters = table.public, table.parameters

ARRAYS = re.compile(r"\b(?:Array|ArrayLike|StateLike|Reference|Wrenches|TipWrench|Named)\b")
NUMBERS = re.compile(r"\b(?:float|Scalar)\b")
SHAPE = re.compile(
    r"\((?:\.\.\.|[a-zA-Z0-9]+)?(?: ?[*+] ?\w+)?(?:,\s*(?:\.\.\.|[*\w]+(?: [*+] \w+)?))*,?\)"
)
UNIT = re.compile(
    r"(?<![\w/^])(?:rad|m|kg|s|N|J|W|Hz|1/s|1/\(kg)(?:[ /^]\S+)?(?![\w])"
    r"|\bunits?\b|\bdimensionless\b|\bof length 1\b|\brotations?\b|\bquaternion\b|frames per second"
)
REFERRED = re.compile(r"(?:[Aa]s in|See|see|as) `(?:kinetree\.|kt\.)?([\w.]+)`")


def described(doc: str) -> dict[str, str]:
    """The entries of `Args:` by argument; `a, b: text` describes both."""
    found, name, inside, margin = {}, (), False, 0
    for line in doc.splitlines():
        if re.fullmatch(r"\s*Args:", line):
            inside, margin = True, len(line) - len(line.lstrip()) + 4
        elif inside and line.strip():
            depth = len(line) - len(line.lstrip())
            if depth < margin:
                inside = False
            elif depth == margin and (entry := re.match(r"\s+([\w, *]+):(?: (.*)|$)", line)):
                name = tuple(x.strip(" *") for x in entry[1].split(","))
                found |= dict.fromkeys(name, entry[2] or "")
            else:
                found |= {x: f"{found[x]} {line.strip()}" for x in name}
    return found


def described_arguments(path: str) -> dict[str, str]:
    """Entries of the help of a callable, or of the one that it refers to for all of them."""
    doc = inspect.getdoc(public()[path]) or ""
    found = described(doc)
    if not found and (other := re.fullmatch(r"See `([\w.]+)`\.", doc.strip())):
        return described_arguments(full(path, other[1]))
    return found


def full(path: str, name: str) -> str:
    """The public name that a docstring of `path` refers to by a shorter one."""
    owner = path.rpartition(".")[0]
    choices = (f"{owner}.{name}", f"{owner.rpartition('.')[0]}.{name}", f"kt.{name}", name)
    return next((x for x in choices if x in public()), "")


def entry(path: str, name: str) -> str:
    """The text of an argument; `as in` another callable adds the text there."""
    text = described_arguments(path).get(name, "")
    for other in REFERRED.findall(text):
        there = full(path, other)
        if there and there != path:
            text += " " + described_arguments(there).get(name, "")
    return text


def annotation(thing, name: str) -> str:
    found = parameters(thing)[name].annotation
    return found if isinstance(found, str) else str(found).replace("typing.", "")


def plain(text: str) -> str:
    """An annotation without functions, mappings and literals, which words describe."""
    while found := re.search(r"(?:Mapping|Callable|dict|Literal)\[", text):
        depth, end = 1, found.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def is_array(text: str) -> bool:
    return bool(ARRAYS.search(plain(text))) or "numpy.ndarray" in plain(text)


def choices(text: str) -> list[str]:
    """The strings of `Literal[...]` in an annotation."""
    found = re.findall(r"Literal\[([^\]]*)\]", text)
    return [choice for listed in found for choice in ast.literal_eval(f"[{listed}]")]


ALL = [(path, name) for path, thing in public().items() for name in parameters(thing)]


def test_the_walk_finds_the_callables():
    paths = public()
    assert len(paths) > 300 and len(ALL) > 900
    for path in ("kt.load", "kt.Robot.inverse_dynamics", "kt.Robot.simulate", "kt.Builder.joint"):
        assert path in paths
    assert {"kt.motion.Trajectory.to_csv", "kt.identify.Recording", "kt.spatial.Ad"} <= set(paths)
    assert {"kt.robots.panda", "kt.controllers.PD", "kt.parallel.sweep"} <= set(paths)


def test_every_public_callable_begins_with_a_sentence():
    wrong = [path for path, thing in public().items() if len(inspect.getdoc(thing) or "") < 8]
    assert not wrong


def test_every_argument_is_described():
    wrong = [f"{path}({name})" for path, name in ALL if not entry(path, name)]
    assert not wrong, wrong


def test_every_array_has_a_shape():
    wrong = [
        f"{path}({name}): {entry(path, name)}"
        for path, name in ALL
        if is_array(annotation(public()[path], name)) and not SHAPE.search(entry(path, name))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_number_and_array_has_a_unit():
    wrong = [
        f"{path}({name}): {entry(path, name)}"
        for path, name in ALL
        if (is_array(kind := annotation(public()[path], name)) or NUMBERS.search(plain(kind)))
        and not UNIT.search(entry(path, name))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_choice_is_listed():
    wrong = [
        f"{path}({name}): {choice}"
        for path, name in ALL
        for choice in choices(annotation(public()[path], name))
        if f'"{choice}"' not in entry(path, name)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_argument_is_described_that_does_not_exist():
    wrong = [
        f"{path}({name})"
        for path, thing in public().items()
        for name in described(inspect.getdoc(thing) or "")
        if name not in parameters(thing)
        and not (inspect.ismethod(thing) and name == table.parameters_of(thing)[0])
    ]
    assert not wrong, wrong


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


def test_the_types_for_editors_are_those_of_the_declarations():
    assert stubs.STUB.read_text(encoding="utf-8") == stubs.stub(), "run tools/write_stubs.py"


@pytest.mark.parametrize("name", WHOLE_BODY)
def test_examples_of_kernels_print_what_their_help_shows(name):
    found = doctest.DocTestParser().get_doctest(
        kt.robots.planar_2r().compile(name).__doc__, {"kt": kt}, name, None, 0
    )
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found, out=report.append)
    assert found.examples and not report, "".join(report)


def test_kernels_show_their_arguments():
    robot = kt.robots.planar_2r()
    kernel = robot.inverse_dynamics
    assert str(inspect.signature(kernel)) == "(q, dq, ddq, F_ext=None, *, out=None, **options)"
    assert str(inspect.signature(robot.mass_matrix)) == "(q, *, out=None, **options)"
    assert list(described(kernel.__doc__)) == list(inspect.signature(kernel).parameters)
    assert kernel.__doc__.endswith(f"compiled for {robot.name!r}: n = 2, nq = 2, l = 2.")
    free = robot.compile("inverse_dynamics", wrenches=True, free=["mass", "friction"])
    assert list(described(free.__doc__)) == list(inspect.signature(free).parameters)
    slope = robot.derivative("pose", free=["gravity"])
    assert list(described(slope.__doc__)) == ["q", "gravity", "out", "options"]
    assert "Derivatives of pose by q" in slope.__doc__ and "(..., 4, 4, 2)" in slope.__doc__
    signature = "(self, q, dq, ddq, F_ext=None, *, out=None, **options)"
    assert str(inspect.signature(kt.Robot.inverse_dynamics)) == signature
    q = [0.1, 0.2]
    assert kt.Robot.gravity_forces(robot, q).tobytes() == robot.gravity_forces(q).tobytes()


def test_signatures_name_types_of_arrays_instead_of_defining_them():
    shown = {(path, name): annotation(public()[path], name) for path, name in ALL}
    assert shown["kt.identify.excite", "center"] == "StateLike | None"
    assert [x for x, text in shown.items() if "ndarray[" in text or "HasDlpack" in text] == []
