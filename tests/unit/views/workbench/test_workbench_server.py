"""The server: answers, errors without tracebacks, slow and many clients, and a clean end."""

import contextlib
import http.client
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from workbench_client import Client

import kinetree as kt
from kinetree.views.workbench import view
from kinetree.views.workbench.api import API
from kinetree.views.workbench.server import THREAD


@pytest.fixture(scope="module")
def workbench():
    with view(kt.robots.planar_2r(), browser=False, token="test") as running:
        yield running


@pytest.fixture
def client(workbench):
    found = Client(workbench)
    yield found
    found.close()


def own_threads():
    return [x for x in threading.enumerate() if x.name == THREAD]


def test_a_connection_serves_many_requests(client):
    first = client.post("open", {"id": "given"})
    wire = client.wire.sock
    second = client.post("open", {"id": "given"})
    assert first[0] == 200 and first == second and client.wire.sock is wire


@pytest.mark.parametrize(
    ("name", "body", "status", "words"),
    [
        ("nothing", {}, 400, "there is no request"),
        ("readings", b"{", 400, "not JSON"),
        ("readings", b"[1]", 400, "not a record"),
        ("readings", b"[" * 100_000, 400, "not JSON"),
        ("readings", b'{"robot": "given", "q": [NaN, 0]}', 400, "NaN is not a number of JSON"),
        ("readings", b'{"robot": "given", "q": [1%s, 0]}' % (b"0" * 400), 400, "finite"),
        ("readings", {"robot": "given"}, 400, "q is None"),
        ("readings", {"robot": "given", "q": [0]}, 400, "'joint1', 'joint2'"),
        ("readings", {"robot": "given", "q": [0, "x"]}, 400, "joint2 is 'x'"),
        ("readings", {"robot": "given", "q": [0, 0], "frame": "nose"}, 400, "no frame 'nose'"),
        ("readings", {"robot": "gone", "q": [0, 0]}, 400, "not open"),
        ("open", {"name": "pnada"}, 400, "Did you mean 'panda'"),
        ("readings", {"robot": "given", "q": [0, 0], "Push": None}, 400, "Did you mean 'push'"),
        ("simulate", {"robot": "given", "q": [0, 0], "dt": 0.1}, 400, "has an entry 'dt'"),
        ("random", {"robot": "given", "seed": 1}, 400, "has an entry 'seed'"),
        ("robots", {"name": "panda"}, 400, "expected only an empty record"),
    ],
)
def test_mistakes_are_answered_with_words(client, name, body, status, words):
    found, answer = client.post(name, body)
    assert found == status and words in answer["error"] and "Traceback" not in answer["error"]
    assert client.post("robots", {})[0] == 200  # on the same connection


def test_an_error_of_our_own_does_not_end_the_server(client, monkeypatch):
    monkeypatch.setitem(API, "robots", (lambda shelf, request: 1 / 0, ()))
    status, answer = client.post("robots", {})
    assert status == 500 and "ZeroDivisionError" in answer["error"] and "File" not in str(answer)
    assert client.post("open", {"id": "given"})[0] == 200


def test_many_requests_at_once_equal_one_by_one(workbench):
    rng = np.random.default_rng(0)
    states = [
        {"robot": "given", "q": q.tolist(), "dq": dq.tolist(), "ddq": [0.1, 0.2]}
        for q, dq in zip(*rng.normal(size=(2, 60, 2)), strict=True)
    ]

    def ask(state):
        client = Client(workbench)
        try:
            return client.post("readings", state)
        finally:
            client.close()

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, states))
    assert together == [ask(state) for state in states]
    assert all(status == 200 for status, _ in together)


def test_the_end_leaves_no_thread_and_no_folder():
    before = set(own_threads())
    with view(kt.robots.cart_pole(), browser=False) as workbench:
        client = Client(workbench)
        client.post("open", {"id": "given"})
        folder, port = workbench.shelf.folder, workbench.guard.port
        assert folder.is_dir() and set(own_threads()) - before
    assert not folder.exists() and not set(own_threads()) - before
    with socket.socket() as free:
        assert free.connect_ex(("127.0.0.1", port)) != 0
    client.close()


def test_the_end_interrupts_a_simulation():
    """A run that would take minutes ends with the workbench, without a thread left."""
    before = set(own_threads())
    with view("quadruped", browser=False) as workbench:
        client = Client(workbench)
        q = workbench.shelf.find("quadruped").stage.q.tolist()
        state = {"robot": "quadruped", "q": q, "duration": 60}

        def ask():
            with contextlib.suppress(OSError, http.client.HTTPException):
                client.post("simulate", state | {"preset": "release"})

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(0.2)
    thread.join(15)
    client.close()
    assert not thread.is_alive() and not set(own_threads()) - before


def test_a_run_is_interrupted_and_keeps_what_it_has(workbench):
    """A run that would take minutes ends when the page asks for it."""
    client, other, found = Client(workbench), Client(workbench), []
    q = workbench.shelf.find("quadruped").stage.q.tolist()
    state = {"robot": "quadruped", "q": q, "duration": 60, "preset": "release"}
    thread = threading.Thread(target=lambda: found.append(client.post("simulate", state)))
    thread.start()
    while thread.is_alive():
        other.post("stop", {})
        thread.join(0.2)
    client.close()
    other.close()
    ((status, motion),) = found
    assert status == 200 and motion["t"][-1] < 59
    assert any("stopped by you" in x for x in motion["remarks"])
