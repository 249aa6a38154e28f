"""Plain words read without the parser: the call is the one that the parser makes of them."""

import random
import shlex

import pytest
from cyclopts import CycloptsError

from kinetree.cli.app import app
from kinetree.cli.arguments import digest
from kinetree.cli.commands import COMMANDS, declared, find, plain_call

NAMES = [name for commands in COMMANDS.values() for name in commands]
PLAIN = [
    "id panda", "id panda --q 0.1 -0.3 --dq 1e-3 -.5", "id panda --json --degrees", "fd arm.urdf -",
    "terms panda --friction none", "id panda data.csv --columns a=q:b --topic x", "report a -o b",
    "render a b -o c --theme dark --zoom 2 --camera 1 2", "simulate a --no-mimic --duration 2.5",
    "optimize a --from 1 2 --to -1", "explain a --format html", "demo", "check a b --tolerance 1",
    "lint a --no-meshes", "plan a --to 1 --time-optimal", "id a -5",
]  # fmt: skip
FOR_THE_PARSER = [
    "", "--help", "id", "id --help", "id panda --hel", "id panda --q", "id panda --q=1", "id a b c",
    "id panda -- -x", "id panda --q 1 --q 2", "id none none", "id a --q none", "id a --q [1,2]",
    "id a --topic null", "render a", "render a -ob", "render a -o b --zoom 1_0", "plan a --dt nan",
    "plan a --dt 0x1", "terms a --friction File", "id a --json true", "id a --json b", "cache info",
    "id a -j", "id a --q -1j", "lint a --no-json", "report a --samples 2.6", "check a",
    "identify a b -o c", "options", "id --q 1 panda", "explain a --format none",
]  # fmt: skip
VALUES = ["1", "-2.5", "x", "none", "file", "", "-", "-1,2", "{}", "html", "dark", "/", "a=-1"]


def parsed(words):
    """The function of the words, and its arguments, by the parser; None where these are wrong."""
    try:
        function, bound, _ = app.parse_args(digest(words), exit_on_error=False, print_error=False)
    except CycloptsError:
        return None
    return function, bound.args, bound.kwargs


def compare(words):
    """Whether the words were plain; then they mean what the parser reads."""
    call = plain_call(digest(words))
    if call is not None:
        assert (call.func, call.args, call.keywords) == parsed(words), words
    return call is not None


@pytest.mark.parametrize("words", PLAIN)
def test_plain_words_are_read_as_by_the_parser(words):
    assert compare(shlex.split(words))


@pytest.mark.parametrize("words", FOR_THE_PARSER)
def test_other_words_are_left_to_the_parser(words):
    assert not compare(shlex.split(words))


@pytest.mark.parametrize("name", NAMES)
def test_random_words_of_a_command_are_read_as_by_the_parser(name):
    rng, function = random.Random(name), find(name)
    count = function.__code__.co_posonlyargcount
    hints = {x: y for x, y in function.__annotations__.items() if x not in ("robot", "return")}
    options = [word for word, _ in declared(hints)]
    plain = 0
    for _ in range(300):
        words = ["a"] * rng.choice([count, count, count, 0, count + 1])
        words += ["--output", "b"] if name in ("render", "convert", "identify") else []
        for _ in range(rng.randrange(4)):
            words += [rng.choice(options), *rng.choices(VALUES, k=rng.choice([0, 1, 1, 1, 2]))]
        plain += compare([name, *words])
    assert plain > 20 or name == "identify"  # whose recordings are a list
