"""Ray: the same file as threads, with a worker killed half-way; sockets on loopback only."""

from ipaddress import ip_address

import pytest

from kinetree.parallel import schedule
from kinetree.parallel.engines import RayEngine

pytest.importorskip("ray", reason="these tests need Ray")
killing = pytest.importorskip("killing", reason="killing workers needs psutil")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def is_loopback(address):
    ip = ip_address(address)
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def test_two_workers_give_the_same_file_with_one_killed(tmp_path, monkeypatch):
    losses, mend = [], schedule._mend
    monkeypatch.setattr(schedule, "_mend", lambda e, c, x: losses.append(x) or mend(e, c, x))
    ours, close = [], RayEngine.close
    monkeypatch.setattr(RayEngine, "close", lambda self: ours.append(self._own) or close(self))
    found, killer = killing.run_and_kill(tmp_path / "ray.npy", monkeypatch, "ray", workers=2)
    assert found == killing.expected()
    assert [type(x).__name__ for x in losses] == ["WorkerCrashedError"]
    assert killer.sockets and all(map(is_loopback, killer.sockets))
    assert ours == [True]  # started and stopped by the study
    assert not __import__("ray").is_initialized()
