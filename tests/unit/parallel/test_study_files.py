"""Files of studies: the same bytes from any chunks, also after an interruption; read as written."""

import hashlib
import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, NameLookupError
from kinetree.parallel import Normal, read, rollouts, run, sinks
from kinetree.parallel.work import robot_hash

ROBOT = kt.robots.double_pendulum()
STUDY = {"q0": Normal(0, 0.5), "duration": 0.02, "every": 2}
ENDINGS = (".parquet", ".npy", ".csv")


def needs(ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")


@pytest.fixture(params=ENDINGS)
def ending(request, monkeypatch):
    needs(request.param)
    monkeypatch.setattr(sinks, "GROUP", 64)  # rows: several groups in a small file
    return request.param


def digest(path):
    beside = sinks.meta_of(path)
    extra = beside.read_bytes() if beside.exists() else b""
    return hashlib.sha256(path.read_bytes() + extra).hexdigest()


class Interrupted(run.Progress):
    """Ctrl-C when 20 samples are there."""

    def update(self, done):
        if done >= 20:
            raise KeyboardInterrupt


@pytest.fixture
def complete(ending, tmp_path):
    path = tmp_path / f"complete{ending}"
    return rollouts(ROBOT, 50, output=path, **STUDY)


def test_files_read_as_memory_does(complete):
    memory = rollouts(ROBOT, 50, **STUDY)
    assert complete.columns == memory.columns and complete["q"].shape == (50, 11, 2)
    for name in memory.columns:
        assert np.array_equal(complete[name], memory[name])
    assert dict(complete.meta) == dict(memory.meta)
    assert complete.summary().splitlines()[1:] == memory.summary().splitlines()[1:]


def test_chunks_change_no_byte(complete, tmp_path):
    for chunk in (1, 7, 50):
        other = rollouts(
            ROBOT, 50, output=tmp_path / f"other{complete.path.suffix}", chunk=chunk, **STUDY
        )
        assert digest(other.path) == digest(complete.path)
    assert sorted(x.suffix for x in tmp_path.iterdir() if x.suffix == ".partial") == []


@pytest.mark.parametrize("chunk", [7])
def test_an_interrupted_study_goes_on(complete, tmp_path, monkeypatch, chunk):
    path = tmp_path / f"interrupted{complete.path.suffix}"
    with monkeypatch.context() as patch:
        patch.setattr(run, "Progress", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            rollouts(ROBOT, 50, output=path, chunk=chunk, **STUDY)
    assert not path.exists() and sinks.partial_of(path).exists()
    begun = []
    results = run.results
    monkeypatch.setattr(
        run, "results", lambda e, first, *x: begun.append(first) or results(e, first, *x)
    )
    found = rollouts(ROBOT, 50, output=path, resume=True, **STUDY)
    assert begun[0] >= 20  # what was there was not computed again
    assert digest(found.path) == digest(complete.path)
    assert not sinks.partial_of(path).exists()


def test_a_complete_study_is_read(complete, monkeypatch):
    monkeypatch.setattr(run, "make_engine", lambda *x: pytest.fail("it is there already"))
    again = rollouts(ROBOT, 50, output=complete.path, resume=True, **STUDY)
    assert np.array_equal(again["q"], complete["q"])


def test_another_study_is_not_gone_on_with(ending, tmp_path, monkeypatch):
    path = tmp_path / f"interrupted{ending}"
    with monkeypatch.context() as patch:
        patch.setattr(run, "Progress", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            rollouts(ROBOT, 50, output=path, chunk=5, **STUDY)
    with pytest.raises(InputError, match="begun with another seed"):
        rollouts(ROBOT, 50, output=path, resume=True, seed=1, **STUDY)
    with pytest.raises(InputError, match="another robot_sha256"):
        rollouts(ROBOT.with_gravity((0, 0, -1)), 50, output=path, resume=True, **STUDY)
    again = rollouts(ROBOT, 50, output=path, seed=1, **STUDY)  # without resume it is replaced
    assert again.meta["seed"] == "1"


def test_metadata_say_what_it_is_and_not_when(complete):
    meta = dict(complete.meta)
    assert meta["study"] == "rollouts" and meta["robot"] == ROBOT.name and meta["seed"] == "0"
    assert meta["robot_sha256"] == robot_hash(ROBOT.model)
    assert json.loads(meta["settings"])["duration"] == 0.02
    assert not any("time" in key or "date" in key or "executor" in key for key in meta)


def test_groups_of_columns_and_quantiles(complete):
    assert complete["tau"].shape == (50, 11, 2) and complete["t"].shape == (50, 11)
    low, middle, high = complete.quantiles("q:elbow")
    assert low.shape == (11,) and (low <= middle).all() and (middle <= high).all()
    assert complete.quantiles("q", 0.5).shape == (11, 2)
    with pytest.raises(NameLookupError, match=r"no column 'mass'; it has sample, t, q, dq, tau"):
        complete["mass"]
    with pytest.raises(InputError, match="shares between 0 and 1"):
        complete.quantiles("q", 5)


def test_files_that_are_no_studies_are_refused(tmp_path):
    with pytest.raises(InputError, match="not a file"):
        read(tmp_path / "nothing.npy")
    np.save(tmp_path / "other.npy", np.arange(3))
    with pytest.raises(InputError, match="does not begin as a study's"):
        read(tmp_path / "other.npy")
