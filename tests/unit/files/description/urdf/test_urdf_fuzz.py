"""Whatever is given, a robot or one of our own errors comes out."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_texts import ROBOT

from kinetree.errors import KinetreeError
from kinetree.files.description.urdf import read_urdf_text

TOOL = Path(__file__).resolve().parents[5] / "tools" / "fuzz_urdf.py"


def load_tool():
    spec = importlib.util.spec_from_file_location("fuzz_urdf", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz = load_tool()


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_raise_nothing_but_our_errors(seed):
    for data in fuzz.mutants([fuzz.SEED_FILE, ROBOT.encode()], seed, 250):
        try:
            assert read_urdf_text(data).links
        except KinetreeError as error:
            assert str(error)


def test_the_mutator_repeats_itself_and_breaks_most_files_but_not_all():
    first = list(fuzz.mutants([fuzz.SEED_FILE], 1, 200))
    assert first == list(fuzz.mutants([fuzz.SEED_FILE], 1, 200))
    broken = 0
    for data in first:
        try:
            read_urdf_text(data)
        except KinetreeError:
            broken += 1
    assert 50 < broken < 190


def test_the_mutator_reports_foreign_errors():
    def read(data):
        raise KeyError("x")

    assert "KeyError" in fuzz.failure(b"", read)
    assert fuzz.failure(b"") == ""


ATTRIBUTES = ["name", "type", "link", "joint", "xyz", "rpy", "value", "ixx", "lower", "multiplier"]
VALUES = st.sampled_from(["a", "b", "fixed", "planar", "1 2 3", "0 0 0", "nan", "1e308", "world"])
TAGS = ["link", "joint", "inertial", "mass", "inertia", "origin", "axis", "limit", "mimic"]
TAGS += ["parent", "child", "transmission", "actuator", "rotor_inertia", "frame", "visual", "mesh"]


def write(tag, attributes, children):
    words = [tag, *(f"{key}='{value}'" for key, value in attributes.items())]
    return f"<{' '.join(words)}>{''.join(children)}</{tag}>"


def elements(inner):
    return st.builds(
        write,
        st.sampled_from(TAGS),
        st.dictionaries(st.sampled_from(ATTRIBUTES), VALUES, max_size=4),
        st.lists(inner, max_size=5),
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(st.recursive(elements(st.just("text")), elements, max_leaves=12), max_size=6))
def test_any_arrangement_of_elements_is_read_or_refused(parts):
    try:
        assert read_urdf_text(f"<robot name='r'>{''.join(parts)}</robot>").links
    except KinetreeError as error:
        assert str(error).startswith("robot.urdf:")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data):
    with pytest.raises(KinetreeError):
        read_urdf_text(data)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_number_or_an_error_that_names_the_joint(text):
    value = text.translate({ord(c): f"&#{ord(c)};" for c in '<&"\t\r\n'})
    try:
        read_urdf_text(ROBOT.replace('xyz="0 0 0.2"', f'xyz="{value}"'))
    except KinetreeError as error:
        assert (
            "j1" in str(error) or "not well-formed XML" in str(error) or "surrogate" in str(error)
        )
