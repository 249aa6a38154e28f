"""Progress bars: on a terminal or on request, and nothing else on any stream."""

import kinetree as kt
from kinetree.parallel import Normal, rollouts
from kinetree.parallel.run import SAMPLES, Progress

ROBOT = kt.robots.double_pendulum()
STUDY = {"q0": Normal(0, 1), "duration": 0.01}


def test_nothing_is_said_without_a_terminal(capfd):
    rollouts(ROBOT, 10, **STUDY)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_request(capfd):
    rollouts(ROBOT, 10, progress=True, chunk=3, **STUDY)
    out, err = capfd.readouterr()
    assert out == "" and f"rollouts of {ROBOT.name}" in err and "10/10" in err


def test_a_bar_is_taken_away_when_a_study_ends(capfd):
    try:
        with Progress("study", 5, True, SAMPLES) as bar:
            bar.update(2)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert "2/5" in capfd.readouterr().err
