"""Dask: the same file as threads, with a worker killed half-way; sockets on loopback only."""

import pytest

from kinetree.parallel import rollouts

distributed = pytest.importorskip("distributed", reason="these tests need Dask's distributed")
killing = pytest.importorskip("killing", reason="killing workers needs psutil")


def test_two_workers_give_the_same_file_with_one_killed(tmp_path, monkeypatch):
    found, killer = killing.run_and_kill(tmp_path / "dask.npy", monkeypatch, "dask", workers=2)
    assert found == killing.expected()
    assert killer.sockets == {"127.0.0.1"}


def test_a_client_and_its_executor_will_do():
    study = {**killing.STUDY, "duration": 0.01, "every": 1}
    expected = rollouts(killing.ROBOT, 20, **study).table.tobytes()
    with (
        distributed.LocalCluster(
            n_workers=1,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as c,  # fmt: skip
        distributed.Client(c) as client,
    ):
        assert rollouts(killing.ROBOT, 20, executor=client, **study).table.tobytes() == expected
        pool = client.get_executor(pure=False)
        assert rollouts(killing.ROBOT, 20, executor=pool, **study).table.tobytes() == expected
