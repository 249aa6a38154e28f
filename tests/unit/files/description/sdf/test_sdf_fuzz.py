"""Damaged SDF: a robot, or one of our own errors with a message, comes out."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sdf_trees import RandomRobot

from kinetree.errors import KinetreeError
from kinetree.files.description.sdf import read_sdf_text
from kinetree.model import build_model

SEED = """<?xml version="1.0"?>
<sdf version="1.11"><world name="w"><gravity>0 0 -9.8</gravity><frame name="wf"><pose>1 0 0 0 0 0
</pose></frame><model name="ground"><static>true</static><link name="l"/></model>
<model name="robot" canonical_link="a"><pose relative_to="wf">0 0 1 0 0 0</pose>
<link name="a"><inertial><pose>0 0 0 0.1 0 0</pose><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy>
<izz>1</izz></inertia></inertial><visual name="v"><geometry><mesh><uri>model://x/a.stl</uri>
<scale>1 1 1</scale></mesh></geometry></visual></link>
<model name="n" placement_frame="c"><link name="b"/><link name="c"><pose relative_to="b">1 0 0 0 0 0
</pose></link><joint name="j2" type="prismatic"><parent>b</parent><child>c</child><axis>
<xyz expressed_in="b">0 1 0</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>-1</effort>
</limit><dynamics><damping>1</damping><friction>0.1</friction><spring_stiffness>3</spring_stiffness>
</dynamics></axis></joint></model>
<joint name="j1" type="revolute"><pose relative_to="a">0 0 1 0 0 0</pose><parent>a</parent>
<child>n::b</child><axis><xyz>0 0 1</xyz></axis></joint>
<link name="d"/><joint name="j3" type="continuous"><parent>n</parent><child>f</child><axis>
<xyz>1 0 0</xyz><mimic joint="j1"><multiplier>2</multiplier></mimic></axis></joint>
<frame name="f" attached_to="d"/>
<link name="e"/><joint name="j4" type="screw"><parent>d</parent><child>e</child>
<screw_thread_pitch>0.1</screw_thread_pitch><axis><xyz>0 0 1</xyz></axis></joint>
<link name="g"/><joint name="j5" type="ball"><pose>0 0 1 0 0 0</pose><parent>a</parent>
<child>g</child></joint><link name="h"/><joint name="j6" type="universal"><parent>a</parent>
<child>h</child><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
</model><joint name="wj" type="fixed"><parent>world</parent><child>robot::a</child></joint>
</world></sdf>"""
PIECE = re.compile(r">[^<>]+<|\"[^\"]*\"")
TAG = re.compile(r"<(/?)([a-z_2]+)")
WORDS = "a b n::b f __model__ world j1 j6 0 -1 nan inf 1e400 true fixed ball axis2".split()
WORDS += ["", "1 2 3", "0 0 0", "1 2 3 4 5 6", "0 0 1 0 0 0", "x" * 2000]
ELEMENT = re.compile(r"<([a-z_]+)[^<>]*>[^<>]*</\1>")


def damaged(text, rng):
    """The text with a few changes of values, tags and elements."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        kind = rng.random()
        pieces = list(PIECE.finditer(text))
        tags = list(TAG.finditer(text))
        elements = list(ELEMENT.finditer(text))
        if kind < 0.5 and pieces:
            place = rng.choice(pieces)
            word = rng.choice(WORDS) if rng.random() < 0.6 else rng.choice(pieces)[0][1:-1]
            text = f"{text[: place.start() + 1]}{word}{text[place.end() - 1 :]}"
        elif kind < 0.7 and tags:
            old, new = rng.choice(tags)[2], rng.choice(tags)[2]
            text = re.sub(rf"<(/?){old}\b", rf"<\g<1>{new}", text, count=rng.choice([0, 2]))
        elif kind < 0.9 and elements:
            place = rng.choice(elements)
            rest = text[: place.start()] + text[place.end() :]
            i = rng.choice([m.start() for m in re.finditer("<", rest)] or [0])
            text = rest if rng.random() < 0.5 else rest[:i] + place[0] + rest[i:]
        else:
            i = rng.randrange(len(text) + 1)
            text = text[:i] + rng.choice(["<", ">", "&", "</model>", "\0", "é"]) + text[i:]
    return text


@pytest.mark.parametrize("seed", range(12))
def test_damaged_files_raise_nothing_but_our_errors(seed):
    sources = [SEED, RandomRobot(seed).text(), RandomRobot(seed, nested=False).text(1)]
    rng = random.Random(seed)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(50):
        text = damaged(rng.choice(sources), rng)
        try:
            build_model(read_sdf_text(text), unphysical="allow")
            outcomes["read"] += 1
        except KinetreeError as error:
            assert str(error)
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 3


def test_the_file_that_is_damaged_is_read_when_it_is_whole():
    description = read_sdf_text(SEED)
    assert [x.name for x in description.joints if x.type != "fixed"] == [
        "n::j2", "j1", "j3", "j4", "j5", "j6/axis", "j6/axis2",
    ]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data):
    with pytest.raises(KinetreeError):
        read_sdf_text(data)
