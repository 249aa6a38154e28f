"""Mechanisms of any size, exponents of growth, and the record that is made of them."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.growth import markdown
from benchmarks.mechanisms import FAMILIES, SIZES, mechanism
from benchmarks.peers.labels import PYTHON_LOOP
from benchmarks.questions import OWN_ROBOTS
from benchmarks.questions.growth import CODE, FIRST, OPERATIONS, QUANTITIES, TIME, slope
from benchmarks.required import CODE_SOON, verdicts
from benchmarks.rows import Row
from benchmarks.timing import Effort

ABOUT = {
    "date": "2026-01-02 03:04 UTC",
    "machine": {"processor": "P", "cores": 2, "features": [], "system": "S", "load": 0.1},
    "versions": {"python": "3", "numpy": "2", "llvmlite": "1", "pin": "4"},
    "commit": "abc",
}


def rows_of(power, *, sizes=SIZES, ratio=20.0, first=400.0, code=0.1):
    """Rows of a library whose costs are proportional to n ** power."""
    found = []
    for family in FAMILIES:
        for quantity in QUANTITIES:
            for n in sizes:
                name, cost = f"{family} {n}", 100 * n**power
                found += [
                    Row(OPERATIONS, name, quantity, "kinetree", cost, ""),
                    Row(CODE, name, quantity, "kinetree", code * n**power, "ms"),
                    Row(FIRST, name, quantity, "kinetree", first, "ms"),
                    Row(TIME, name, quantity, "kinetree", cost, "ns", ratio=1.0),
                    Row(TIME, name, quantity, PYTHON_LOOP, cost * ratio, "ns", ratio=ratio),
                ]
    return found


def words(rows):
    """How each requirement on growth is met, without those that were not measured."""
    judged = [v for v in verdicts(rows, []) if v.robot.partition(" ")[0] in FAMILIES]
    return {(v.what, v.robot): v.word for v in judged if v.passed is not None}


@pytest.mark.parametrize("power", [0.0, 1.0, 1.7, 3.0])
def test_the_exponent_of_a_power_is_found_whatever_small_mechanisms_cost(power):
    rows = rows_of(power)
    rows[0] = Row(OPERATIONS, "snake 8", QUANTITIES[0], "kinetree", 1e9, "")
    assert slope(rows, OPERATIONS, "snake", QUANTITIES[0]) == pytest.approx(power, abs=1e-9)


def test_two_sizes_have_no_exponent():
    assert slope(rows_of(1.0, sizes=(8, 16, 32, 64)), TIME, "snake", QUANTITIES[0]) is None


@pytest.mark.parametrize(
    ("changes", "short"),
    [({}, set()), ({"power": 1.2}, {"exponent"}), ({"ratio": 14.0}, {"pin.aba"}),
     ({"ratio": 7.0}, {"pin.aba"}), ({"first": 401.0}, {"first answer"}),
     ({"code": 100.0}, {", machine code"})],
)  # fmt: skip
def test_requirements_on_growth_are_judged_by_family_and_size(changes, short):
    options = {"power": 1.1} | changes
    found = words(rows_of(options.pop("power"), **options))
    codes = sum(len(sizes) for families in CODE_SOON.values() for sizes in families.values())
    assert len(found) == len(FAMILIES) * (3 * len(SIZES) + 4) + codes
    wrong = {what for (what, _), word in found.items() if word == "SHORT"}
    keys = ("exponent", "pin.aba", "first answer", ", machine code")
    assert {key for key in keys if any(key in what for what in wrong)} == short
    if changes.get("ratio") == 14.0:
        missed = {robot for (_, robot), word in found.items() if word == "SHORT"}
        assert missed == {f"{family} {n}" for family in FAMILIES for n in SIZES if n <= 128}


def test_the_record_has_every_size_and_what_falls_short():
    rows = rows_of(1.3, ratio=9.0)
    judged = [v for v in verdicts(rows, []) if v.robot.partition(" ")[0] in FAMILIES]
    text = markdown(ABOUT, rows, ["a note"], judged)
    assert text.count("\n| 1,024 |") == len(FAMILIES) * len(QUANTITIES)
    assert "snake 128 (9x)" in text and "snake 256 (9x)" not in text
    assert "| chain | forward dynamics | 1.30 | 0.00 | 1.30 | 1.30 |" in text
    assert text.endswith("- a note\n")


def test_questions_know_the_families():
    assert OWN_ROBOTS["growth"] == tuple(FAMILIES)


@pytest.mark.parametrize("n", [8, 32])
@pytest.mark.parametrize("family", FAMILIES)
def test_mechanisms_have_their_joints_and_their_depth(family, n):
    model = mechanism(family, n).model
    assert model.joint_names == tuple(f"joint{k}" for k in range(n))
    depth = {"snake": n, "chain": n, "tree": int(np.log2(n)) + 1, "legs": min(n, 16)}[family]
    levels = {}
    for i in model.links:  # parents before children
        levels[i] = levels.get(model.parent[i], 0) + 1
    assert max(levels.values()) == depth


@pytest.mark.parametrize("family", FAMILIES)
def test_the_short_data_of_pinocchio_give_the_bits_of_a_whole_one(family):
    pin = pytest.importorskip("pinocchio")
    from benchmarks.questions.growth import lean_data

    case, rng = mechanism(family, 16), np.random.default_rng(1)
    model = pin.buildModelFromUrdf(case.urdf)
    state = rng.normal(size=(3, 16))
    for function in (pin.rnea, pin.aba):
        whole = function(model, model.createData(), *state).copy()
        assert np.array_equal(function(model, lean_data(model), *state), whole)


def test_the_first_answer_is_measured_as_users_get_it(monkeypatch):
    # `make bench` switches the background off, without which the first answer is machine code
    from benchmarks.questions import growth

    asked = []

    def of_one(answer, case, name, quantity, effort):
        asked.append((name, os.environ["KINETREE_BACKGROUND"], os.environ["KINETREE_CACHE"]))
        return 0.0

    for name in ("KINETREE_BACKGROUND", "KINETREE_CACHE"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setattr(growth, "of_one", of_one)
    monkeypatch.setattr(growth, "complete", lambda case, quantity: SimpleNamespace(notes=case))
    monkeypatch.setattr(growth, "mechanism", lambda family, n: SimpleNamespace(form="looped"))
    monkeypatch.setattr(growth, "wake", lambda: None)
    growth.ask("chain", Effort())
    sizes = [8, 32, 128, 512, 1024]
    assert asked == [(f"chain {n}", "1", "0") for n in sizes for _ in QUANTITIES]
