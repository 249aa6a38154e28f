"""Mutated files: they are read or refused; nothing but an error of kinetree ever leaves."""

import random
from dataclasses import replace

import pytest

from kinetree.errors import KinetreeError
from kinetree.files.description.mjcf import read_mjcf
from kinetree.files.description.mjcf.nodes import Node, parse, write

pytest.importorskip("mujoco", reason="MJCF needs mujoco")

SEED_FILE = b"""<mujoco model="x">
<compiler angle="radian"/><option gravity="0 0 -9.81" density="1"/>
<default><default class="c"><geom material="m"/><joint armature=".1"/></default></default>
<asset><mesh name="s" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><mesh file="lost.stl"/><material name="m"/>
<hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset>
<worldbody><frame pos="0 0 1"><site name="s0"/></frame>
<body name="b1" childclass="c"><joint name="j1" axis="0 0 1" range="-1 1" ref=".1"/>
<joint name="j2" type="slide" axis="1 0 0" damping=".1"/>
<geom name="g1" size=".1"/><site name="s1"/>
<body name="b2" pos="0 0 1" quat="1 0 0 0"><joint name="j3" type="ball" pos=".1 0 0"/>
<inertial pos="0 0 .1" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="lost"/></body></body>
<body name="b3" euler="0 0 1"><freejoint name="f"/><geom type="mesh" mesh="s"/></body>
<replicate count="2" offset="0 0 1"><body name="r"><joint/><geom size=".1"/></body></replicate>
</worldbody>
<tendon><fixed name="t"><joint joint="j1" coef="1"/></fixed></tendon>
<equality><joint name="e" joint1="j1" joint2="j2" polycoef="0 1 0 0 0"/></equality>
<actuator><motor joint="j1" gear="3" ctrlrange="-1 1"/><position joint="j2" kp="1"/></actuator>
</mujoco>"""

NUMBERS = "nan inf -1 0 1e308 -1e308 1e-308 1e400 1e154 2147483648 0x10 1,5 1e9 1e-9 0.5 7".split()
WORDS = "%s%n% b1 j1 world mesh hfield ball free slide box auto true ../x /etc/passwd #1".split()
VALUES = [*NUMBERS, *WORDS, "", "0 0 0", "0 0 0 0", "x" * 5000, "\N{GRINNING FACE}"]
TAGS = "body joint geom site frame replicate plugin inertial freejoint skin attach include".split()


def mutated(rng: random.Random) -> bytes:
    """The seed file with a few changes to its bytes, or to its elements and attributes."""
    if rng.random() < 0.2:
        data = bytearray(SEED_FILE)
        for _ in range(rng.randint(1, 4)):
            k = rng.randrange(len(data))
            data[k : k + rng.choice((0, 1, 30))] = bytes([rng.randrange(256)])
        return bytes(data)
    nodes = parse(SEED_FILE, "seed.xml")
    for _ in range(rng.choice((1, 1, 2, 3))):
        k = rng.randrange(1, len(nodes))
        nodes[k : k + 1] = changed(nodes[k], nodes, rng)
    return write(nodes).encode()


def changed(node: Node, nodes: list[Node], rng: random.Random) -> list[Node]:
    """One node with another value, tag or attribute, or with a stray one after it."""
    kind, attributes = rng.random(), dict(node.attributes)
    if kind < 0.6:
        key = rng.choice([*attributes, rng.choice(["name", "pos", "class", "file", "range"])])
        values = attributes.get(key, "").split() or [""]
        values[rng.randrange(len(values))] = rng.choice(VALUES)
        return [replace(node, attributes=attributes | {key: " ".join(values)})]
    if kind < 0.75 and attributes:
        del attributes[rng.choice(list(attributes))]
        return [replace(node, attributes=attributes)]
    if kind < 0.85:
        return [replace(node, tag=rng.choice(TAGS))]
    return [node, replace(rng.choice(nodes), depth=node.depth + rng.randint(0, 1))]


def test_the_seed_file_itself_is_read(tmp_path):
    (tmp_path / "robot.xml").write_bytes(SEED_FILE)
    assert len(read_mjcf(tmp_path / "robot.xml").joints) == 7


@pytest.mark.parametrize("seed", range(8))
def test_mutations_are_read_or_refused(tmp_path, seed):
    rng, outcomes = random.Random(seed), set()
    for _ in range(25):
        (tmp_path / "robot.xml").write_bytes(mutated(rng))
        try:
            read_mjcf(tmp_path / "robot.xml")
            outcomes.add("read")
        except KinetreeError as error:
            outcomes.add("refused")
            assert str(error)
    assert outcomes == {"read", "refused"}
