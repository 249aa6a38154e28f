"""How much MuJoCo would build: every copy is counted, and nothing twice."""

import pytest

from kinetree.errors import ParseError
from kinetree.files.description import packages, source, xml
from kinetree.files.description.mjcf import checks, files, meshes
from kinetree.files.description.mjcf import nodes as mjcf_nodes
from kinetree.files.description.mjcf.checks import check_nodes
from kinetree.files.description.mjcf.nodes import parse
from kinetree.files.description.urdf import parts
from kinetree.files.description.xacro import MOST_ELEMENTS, expressions, inputs
from kinetree.files.description.xacro import files as xacro_files

BIG = "".join(f'<geom size=".{k + 1}"/>' for k in range(40))
TINY = '<body name="tiny"><joint/><geom size=".1"/></body>'  # 3 elements, 1 joint
COPIES = "".join(f'<attach body="tiny" prefix="p{k}"/>' for k in range(10))
CASES = {
    # elements: <mujoco>, <worldbody>, and what is inside; joints
    "plain": (f"{TINY}", 5, 1),
    "replicated": (f'<replicate count="4">{TINY}</replicate>', 3 + 4 * 3, 4),
    "replicated twice": (
        f'<replicate count="4"><replicate count="2">{TINY}</replicate></replicate>',
        3 + 4 + 4 * 2 * 3,
        8,
    ),
    "attached": (f'<body name="big">{BIG}</body>{TINY}{COPIES}', 46 + 10 + 10 * 3, 11),
    "attached inside a frame": (
        f'<frame name="f">{TINY}</frame><attach frame="f" prefix="a"/>', 11, 2,
    ),
    "attached before it is complete": (
        '<body name="a"><geom size="1"/><attach body="b" prefix="x"/></body>',
        2 + 3 + 5,  # at most all that there is
        0,
    ),
    "attached and replicated": (
        f'{TINY}<replicate count="3"><attach body="tiny" prefix="a"/></replicate>',
        2 + 3 + 1 + 3 * (1 + 3),
        4,
    ),
}  # fmt: skip


def nodes_of(inside):
    text = f"<mujoco><worldbody>{inside}</worldbody></mujoco>"
    return parse(text.encode(), "robot.xml")


def limits(monkeypatch, **values):
    for name, value in values.items():
        monkeypatch.setattr(checks, name, value)


@pytest.mark.parametrize("name", CASES)
def test_elements_and_joints_are_counted_to_the_last_copy(name, monkeypatch):
    inside, elements, joints = CASES[name]
    nodes = nodes_of(inside)
    limits(monkeypatch, MAX_COPIES=elements, MAX_JOINTS=joints)
    check_nodes(nodes)
    limits(monkeypatch, MAX_COPIES=elements - 1)
    with pytest.raises(ParseError, match=f"more than {elements - 1} elements"):
        check_nodes(nodes)
    limits(monkeypatch, MAX_COPIES=elements, MAX_JOINTS=joints - 1)
    if joints:
        with pytest.raises(ParseError, match=f"{joints - 1} joints"):
            check_nodes(nodes)


def test_characters_of_attributes_are_counted_with_every_copy(monkeypatch):
    nodes = nodes_of('<replicate count="3"><geom name="abc" size="1 2"/></replicate>')
    count = 1 + 3 * (3 + 3)
    limits(monkeypatch, MAX_CHARACTERS=count)
    check_nodes(nodes)
    limits(monkeypatch, MAX_CHARACTERS=count - 1)
    with pytest.raises(ParseError, match=f"{count - 1} characters"):
        check_nodes(nodes)


def test_the_limits_are_those_that_were_tried():
    """Larger ones would let a file take all memory, smaller ones refuse real robots."""
    assert (checks.MAX_COPIES, checks.MAX_JOINTS) == (200_000, 4_000)
    assert checks.MAX_CHARACTERS == meshes.MAX_MESHES == 268_435_456
    assert (files.MAX_FILES, files.MAX_NESTING) == (256, 16)
    assert source.MAX_SIZE == 67_108_864 and inputs.YAML_SIZE == 524_288
    assert (MOST_ELEMENTS, xacro_files.MOST_FILES) == (200_000, 40)
    assert (packages.MOST_FOLDERS, packages.MANIFEST_SIZE) == (20_000, 1_048_576)
    limits = expressions.MOST_STEPS, expressions.MOST_ENTRIES, expressions.MOST_BITS
    assert limits == (1_000_000, 100_000, 4096)
    assert (parts.LARGEST, parts.MAX_NAME) == (1e60, 1000)
    assert xml.BOUNDS == xml.Bounds(67_108_864, 200, 500_000, 200, 65_536)
    own = mjcf_nodes.BOUNDS
    limits = xml.Bounds(67_108_864, 500, 200_000, 200, 33_554_432, deep=own.deep)
    assert own == limits and "MuJoCo itself" in own.deep
