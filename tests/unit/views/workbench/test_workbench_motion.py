"""The player of a motion ends, stops, and never runs twice."""

import threading

from kinetree.views.workbench.motion import Player


def test_it_plays_to_the_end_and_says_so():
    times, done = [], threading.Event()
    player = Player(times.append, done.set)
    player.play(0.25, 0.75, 10.0)
    assert done.wait(60)
    assert times[-1] == 0.75 and times == sorted(times) and times[0] >= 0.25
    assert not player.playing


def test_it_stops_in_between():
    started, ended = threading.Event(), threading.Event()
    player = Player(lambda now: started.set(), ended.set)
    player.play(0.0, 1e6, 1.0)
    assert started.wait(60) and player.playing
    player.stop()
    assert not player.playing and not ended.is_set()


def test_a_new_start_ends_the_old_run():
    running, most = [], []

    def step(now):
        running.append(1)
        most.append(len(running))
        running.pop()

    player = Player(step, lambda: None)
    for _ in range(3):
        player.play(0.0, 1e6, 1.0)
    player.stop()
    assert not most or max(most) == 1


def test_it_can_be_stopped_from_within():
    done = threading.Event()

    def step(now):
        player.stop()
        done.set()

    player = Player(step, lambda: None)
    player.play(0.0, 1e6, 1.0)
    assert done.wait(60)
