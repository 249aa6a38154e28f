"""A few cases of every law; `make attack` runs many."""

import numpy as np
import pytest
from attack_case import Case, Skip, all_laws
from run_attacks import case_seed, edits_text, main, read_edits, run_case

LAWS = all_laws()
CASES = [(name, k) for name, function in LAWS.items() for k in range(getattr(function, "ci", 1))]


@pytest.mark.parametrize(("name", "k"), CASES, ids=[f"{name}-{k}" for name, k in CASES])
def test_law_holds(name, k):
    """Warnings are errors, as everywhere in the suite."""
    try:
        LAWS[name](Case(case_seed(13, name, k)))
    except Skip:
        pytest.skip("the case says nothing, such as a grazing event")


def test_a_case_without_edits_draws_the_numbers_of_the_generator():
    case, plain = Case(5), np.random.default_rng(5)
    for draw in (
        lambda rng: rng.normal(size=3),
        lambda rng: rng.uniform(-1, 2, (2, 2)),
        lambda rng: rng.integers(1, 9),
        lambda rng: rng.choice(["a", "b", "c"]),
        lambda rng: rng.random(),
    ):
        assert np.array_equal(draw(case), draw(plain))


def test_edits_simplify_single_draws():
    case = Case(5, {0: "l", 1: "z", 2: "r", 4: "l"})
    assert case.integers(3, 90) == 3
    assert case.uniform(-1, 1) == 0
    rounded = case.normal()
    assert rounded == float(f"{rounded:.0e}")
    case.random()
    assert case.choice(["a", "b"]) == "a"
    assert read_edits(edits_text({0: "l", 13: "r"})) == {0: "l", 13: "r"}


def test_a_failure_is_a_result_with_its_place():
    def broken(rng):
        assert rng.integers(10) < 0, "never"

    result = run_case(broken, 1, {})
    assert "never" in result.failure and result.signature.startswith("AssertionError")


def test_an_unknown_law_is_refused(capsys):
    assert main(["--replay", "nothing.at_all"]) == 2
    assert "no law" in capsys.readouterr().err
