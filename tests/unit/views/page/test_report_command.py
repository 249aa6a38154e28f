"""`kinetree report`: files, standard output, error messages."""

import json

import pytest

from cli_program import Program


@pytest.fixture
def run(server, tmp_path):
    return lambda *words: Program(tmp_path, server)(["report", *words], code=None)


def test_a_page_is_written_and_described(run, tmp_path):
    done = run("planar_2r", "-o", "arm.html", "--samples", "50", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    page = tmp_path / "arm.html"
    assert told == {
        "robot": "planar 2R", "file": "arm.html", "bytes": page.stat().st_size, "warnings": 0,
        "not_drawn": [],
    }  # fmt: skip
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_without_a_file_the_page_goes_to_standard_output(run, tmp_path):
    done = run("rp", "--samples", "50")
    assert done.returncode == 0 and done.stdout.rstrip().endswith("</html>")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pand", "-o", "x.html"], "Did you mean 'panda'"),
        (["panda", "--json"], "add -o robot.html"),
        (["panda", "-o", "nowhere/x.html"], "there is no folder"),
        (["panda", "-o", "x.html", "--folder", "nowhere"], "--folder is nowhere"),
        (["panda", "-o", "x.html", "--samples", "1"], "expected 10 to 1000000"),
    ],
)
def test_complaints_are_one_paragraph(run, words, message, tmp_path):
    done = run(*words)
    assert done.returncode == 2 and message in done.stderr
    assert list(tmp_path.iterdir()) == []
