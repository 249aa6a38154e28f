"""Text of robot files never becomes markup: answers have it as data."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from hostile_robot import ATTACKS, hostile_urdf
from security_door import Door

DANGEROUS = {"script", "img", "iframe", "object", "embed", "link", "a", "form", "input", "base"}


class Tags(HTMLParser):
    """Collects the tags and attributes of a piece of markup."""

    def __init__(self, markup):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


@pytest.fixture(scope="module")
def answers(workbench):
    """The answers of all requests for a robot whose every name is an attack."""
    door = Door(workbench)

    def answer(name, request):
        found = door.post(name, request)
        assert found.status == 200
        return json.loads(found.body)

    file = {"name": "x.urdf", "base64": base64.b64encode(hostile_urdf().encode()).decode()}
    opened = answer("open", {"files": [file]})
    n, key = opened["n"], opened["id"]
    state = {"robot": key, **{name: np.full(n, 0.3).tolist() for name in ("q", "dq", "ddq")}}
    state["push"] = {"link": 1, "force": [1.0, 2.0, 3.0]}
    asked = {
        "open": {"id": key},
        "readings": state,
        "recursion": state,
        "unfold": state | {"what": {"kind": "tau", "dof": 0}},
        "simulate": state | {"preset": "release", "duration": 0.1},
        "equations": {"robot": key},
    }
    found = {name: answer(name, request) for name, request in asked.items()}
    return found, answer("save", {"robot": key, "kind": "page"})


def markup_in(x):
    """All texts of an answer that the page puts into itself as markup: MathML and equations."""
    if isinstance(x, dict):
        return [y for value in x.values() for y in markup_in(value)]
    if isinstance(x, list):
        return [y for value in x for y in markup_in(value)]
    return [x] if isinstance(x, str) and ("<math" in x or "<m" in x or "<p>" in x) else []


def test_markup_of_answers_has_our_own_tags(answers):
    found, _ = answers
    own = {name: found[name] for name in ("recursion", "unfold", "equations")}
    texts = markup_in(own)
    assert len(texts) > 10
    for text in texts:
        tags = Tags(text)
        if text in ATTACKS or any(text.startswith(f"{x} ") for x in ATTACKS):
            continue  # a name, which the page sets as text
        assert not DANGEROUS & set(tags.tags), text
        assert not [x for x in tags.attributes if x.startswith(("on", "href", "src"))], text


def test_names_are_data_as_they_are_in_the_file(answers):
    found, page = answers
    assert [x.rpartition(" ")[0] for x in found["open"]["links"]] == list(ATTACKS[1:])
    assert "/" not in page["name"] and "<" not in page["name"]
