"""Planted faults: a small package with one strong and one weak test shows what survives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
sys.path.insert(0, str(TOOLS))

from planted.faults import choose, find_faults  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="trials are forked processes")

STRONG = '''"""Well tested."""


def area(a, b):
    """Return a * b + 1 - 1 > 0."""
    return a * b
'''
WEAK = '''"""Badly tested."""

LIMIT = 3


def over(x: int | None = 2) -> bool:
    """Return True above the limit."""
    if x > LIMIT:
        raise ValueError(f"{x + 1} is above")
    return x < LIMIT


def waits(n):
    """Count down."""
    while n > 0:
        n -= 1
    return n
'''
TESTS = {
    "test_strong.py": """
from toy.part.strong import area


def test_area():
    assert area(3, 5) == 15 and area(-1, 2) == -2
""",
    "test_weak.py": """
from toy.part.weak import over, waits


def test_over():
    assert over(1)


def test_waits():
    assert waits(2) <= 2
""",
}


@pytest.fixture
def toy(tmp_path):
    root = tmp_path / "toy"
    part = root / "src" / "toy" / "part"
    part.mkdir(parents=True)
    (root / "src" / "toy" / "__init__.py").write_text("")
    (part / "__init__.py").write_text("")
    (part / "strong.py").write_text(STRONG)
    (part / "weak.py").write_text(WEAK)
    tests = root / "tests" / "unit" / "part"
    tests.mkdir(parents=True)
    for name, text in TESTS.items():
        (tests / name).write_text(text)
    return root


def run(toy, *words):
    command = [sys.executable, str(TOOLS / "mutants.py"), "part", "--root", str(toy)]
    command += ["--package", "toy", "--record", str(toy / "record.json"), *words]
    temporary = toy.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(temporary)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    record = toy / "record.json"
    return done, json.loads(record.read_text())["faults"] if record.exists() else []


def numbers_of(toy, wanted):
    """Numbers of the first faults of seed 1 that are `wanted`: a path's end, and the text after."""
    chosen = choose(find_faults(toy, toy / "src/toy/part"), 100, 1, toy)
    lines = [x.before_and_after((toy / x.path).read_bytes())[1] for x in chosen]
    return [
        str(
            next(
                k for k, x in enumerate(chosen, 1) if x.path.endswith(end) and text == lines[k - 1]
            )
        )
        for end, text in wanted
    ]


def test_the_weak_test_lets_faults_survive_and_the_strong_one_does_not(toy):
    wanted = [("strong.py", "return a / b"), ("strong.py", "return -a * b")]
    wanted += [("weak.py", "return x <= LIMIT"), ("weak.py", "return x > LIMIT")]
    done, faults = run(toy, "--count", "100", "--only", *numbers_of(toy, wanted))
    assert done.returncode == 1, done.stdout + done.stderr  # below 90 %
    states = {x["after"]: x["found"] for x in faults}
    assert states == {
        "return a / b": True,
        "return -a * b": True,
        "return x <= LIMIT": False,
        "return x > LIMIT": True,
    }
    assert "- src/toy/part/weak.py: `return x < LIMIT` -> `return x <= LIMIT`" in done.stdout
    assert "src/toy/part/weak.py:10\n" in done.stdout
    assert (toy / "src/toy/part/weak.py").read_text() == WEAK  # nothing is planted in the tree


def test_an_endless_loop_counts_as_found_and_names_the_hang(toy):
    source = toy / "src/toy/part/weak.py"
    source.write_text(WEAK.replace("n -= 1", "n = n - 1"))
    (toy / "src/toy/part/strong.py").unlink()
    (toy / "tests/unit/part/test_strong.py").unlink()
    numbers = numbers_of(toy, [("weak.py", "n = n + 1")])
    _, faults = run(toy, "--count", "100", "--only", *numbers, "--patience", "2")
    assert [x["found"] for x in faults] == [True]
    assert faults[0]["how"].startswith("hang")


def test_the_same_seed_plants_the_same_faults(toy):
    every = find_faults(toy, toy / "src" / "toy" / "part")
    one, two = (choose(every, 12, 7, toy) for _ in range(2))
    assert one == two
    assert one != choose(every, 12, 8, toy)
    lines = [(fault.path, fault.line) for fault in one]
    assert len(set(lines)) == min(12, len({(x.path, x.line) for x in every}))


def test_a_test_that_fails_without_a_fault_finds_nothing(toy):
    path = toy / "tests" / "unit" / "part" / "test_strong.py"
    path.write_text(path.read_text() + "\n\ndef test_wrong():\n    assert area(1, 1) == 2\n")
    numbers = numbers_of(toy, [("strong.py", "return a / b")])
    done, faults = run(toy, "--count", "100", "--only", *numbers)
    assert "left out, because it fails without a fault" in done.stdout
    assert [x["test"].rpartition("::")[2] for x in faults] == ["test_area"]
