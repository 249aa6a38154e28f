"""Studies whose process was killed, at any moment: nothing that was written is computed again."""

import os
import subprocess
import sys

import pytest
from test_study_files import ENDINGS, ROBOT, STUDY, Interrupted, digest, needs

from kinetree.parallel import read, rollouts, run, sinks

DIES = """
import os, sys
import kinetree as kt
from kinetree.parallel import Normal, rollouts, run

class Dying(run.Progress):
    def update(self, done):
        if done >= 20:
            os._exit(9)  # as a kill does: no buffer is written, nothing is closed

run.Progress = Dying
study = {"q0": Normal(0, 0.5), "duration": 0.02, "every": 2}
rollouts(kt.robots.double_pendulum(), 50, output=sys.argv[1], chunk=5, **study)
"""


@pytest.fixture(params=ENDINGS)
def ending(request, monkeypatch):
    needs(request.param)
    monkeypatch.setattr(sinks, "GROUP", 64)  # rows: several groups in a small file
    return request.param


@pytest.fixture
def expected(ending, tmp_path):
    """The hash of the study that nothing disturbed."""
    return digest(rollouts(ROBOT, 50, output=tmp_path / f"whole{ending}", **STUDY).path)


@pytest.fixture
def begun(monkeypatch):
    """The samples from which studies went on."""
    found, results = [], run.results
    monkeypatch.setattr(
        run, "results", lambda e, first, *x: found.append(first) or results(e, first, *x)
    )
    return found


def resumed(path):
    found = rollouts(ROBOT, 50, output=path, resume=True, **STUDY)
    left = {x.name for x in path.parent.iterdir() if x.name.startswith(path.name)}
    assert left == {path.name} | ({f"{path.name}.json"} if path.suffix != ".parquet" else set())
    return digest(found.path)


def test_a_killed_process_loses_no_row(ending, expected, begun, tmp_path):
    path = tmp_path / f"killed{ending}"
    command = [sys.executable, "-W", "error", "-c", DIES, str(path)]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert killed.returncode == 9, killed.stderr
    assert not path.exists()
    assert resumed(path) == expected
    assert begun == [20]


@pytest.mark.parametrize("left", [lambda size: size // 2 + 3, lambda size: 7, lambda size: 0])
def test_a_file_that_ends_within_a_row_goes_on_after_the_row_before(
    ending, expected, left, tmp_path, monkeypatch
):
    path = tmp_path / f"cut{ending}"
    with monkeypatch.context() as patch:
        patch.setattr(run, "Progress", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            rollouts(ROBOT, 50, output=path, chunk=5, **STUDY)
    partial = sinks.partial_of(path)
    os.truncate(partial, left(partial.stat().st_size))
    assert resumed(path) == expected


def test_a_file_that_was_about_to_take_its_name_takes_it(
    ending, expected, begun, tmp_path, monkeypatch
):
    path = tmp_path / f"nearly{ending}"
    rollouts(ROBOT, 3, output=path, **STUDY)  # an older study, which is to be replaced

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rollouts(ROBOT, 50, output=path, **STUDY)
    # never the older numbers under the description of the newer study
    assert not path.exists() or read(path).meta["samples"] == "3"
    assert resumed(path) == expected
    assert begun == [0, 0, 50]
