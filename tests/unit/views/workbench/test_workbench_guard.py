"""The rules for requests, tested as functions."""

import pytest

from kinetree.errors import InputError
from kinetree.views.workbench.guard import (
    BODY_BYTES,
    LARGE_BODIES,
    Guard,
    Head,
    Pace,
    address,
    judge,
)

GUARD = Guard(8000, "secret")
OWN, PAGE = "127.0.0.1:8000", "http://127.0.0.1:8000"
ASKED = {
    "method": "POST",
    "path": "/secret/api/readings",
    "hosts": [OWN],
    "origins": [PAGE],
    "types": ["application/json"],
    "lengths": ["10"],
}


def get(path="/secret/", **fields):
    return judge(GUARD, Head(**({"method": "GET", "path": path, "hosts": [OWN]} | fields)))


def post(**fields):
    return judge(GUARD, Head(**(ASKED | fields)))


def test_the_page_and_its_requests_are_let_in():
    assert get(address(GUARD).removeprefix(PAGE)) is None
    assert get("/secret") is None and get("/secret/?scene=1") is None
    assert get(hosts=["localhost:8000"]) is None
    assert post() is None and post(sites=["same-origin"]) is None
    assert post(types=["application/json; charset=utf-8"]) is None
    assert judge(Guard(80, "secret"), Head("GET", "/secret/", ["127.0.0.1"])) is None


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"hosts": []}, 403),
        ({"hosts": ["evil:8000"]}, 403),
        ({"hosts": [OWN, OWN]}, 403),
        ({"hosts": ["127.0.0.1"]}, 403),
        ({"origins": []}, 403),
        ({"origins": [PAGE, PAGE]}, 403),
        ({"origins": ["http://localhost:8000"]}, 403),
        ({"origins": ["null"]}, 403),
        ({"sites": ["cross-site"]}, 403),
        ({"sites": ["none"]}, 403),
        ({"path": "/wrong/api/readings"}, 403),
        ({"path": "/secret"}, 404),
        ({"path": "/secret/index.html"}, 404),
        ({"path": "/secret/api/"}, 404),
        ({"path": "/secret/api/open/readings"}, 404),
        ({"path": "/secret/readings"}, 404),
        ({"method": "PUT"}, 405),
        ({"types": ["text/plain"]}, 415),
        ({"types": []}, 415),
        ({"lengths": []}, 411),
        ({"lengths": ["1", "2"]}, 411),
        ({"codings": ["chunked"]}, 411),
        ({"lengths": ["-1"]}, 400),
        ({"lengths": ["1e3"]}, 400),
        ({"lengths": ["\u0663"]}, 400),
        ({"lengths": [str(BODY_BYTES + 1)]}, 413),
        ({"path": "/secret/api/open", "lengths": [str(LARGE_BODIES["open"] + 1)]}, 413),
    ],
)
def test_other_requests_are_refused(fields, status):
    refusal = post(**fields)
    assert refusal.status == status and "secret" not in refusal.reason


def test_a_get_has_no_body_and_reaches_no_request():
    assert get(lengths=["5"]).status == 413
    assert get("/secret/api/readings").status == 404


def test_uploads_may_be_larger_than_other_requests():
    large = {"lengths": [str(BODY_BYTES + 1)]}
    assert post(path="/secret/api/open", **large) is None
    assert post(path="/secret/api/readings", **large).status == 413


def test_the_pace_is_kept():
    pace = Pace(per_second=10)
    start = pace._last
    assert all(pace.allows(start + k / 10) for k in range(200))  # twenty seconds at the pace
    now = start + 20
    assert sum(pace.allows(now) for _ in range(100)) <= 21  # a burst of two seconds
    assert not pace.allows(now) and pace.allows(now + 0.11)


@pytest.mark.parametrize("token", ["", "a/b", "a b", "../x", "\u00e9"])
def test_a_token_fits_into_an_address(token):
    with pytest.raises(InputError, match="token"):
        Guard(1, token)
