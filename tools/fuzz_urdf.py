"""Damage URDF files at random, with a seed, and check that the reader fails cleanly.

    python tools/fuzz_urdf.py --count 100000 --seed 1 [FILE_OR_FOLDER ...]

For any input the reader may raise only kinetree's own errors, and within two seconds. The first
failures are printed with seed and number, which reproduce them.
"""

import argparse
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kinetree.errors import KinetreeError
from kinetree.files.description.source import RobotFile, decode
from kinetree.files.description.urdf import read_urdf

SLOW = 2.0  # seconds

SEED_FILE = b"""<?xml version="1.0" encoding="utf-8"?>
<robot name="seed" xmlns:drake="http://drake.mit.edu">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0.1 0.2" rpy="0.1 0 1.57"/>
      <mass value="1.5"/>
      <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.1" iyz="0" izz="0.05"/>
    </inertial>
    <visual><geometry><mesh filename="package://seed/arm.stl" scale="1 1 1"/></geometry></visual>
  </link>
  <link name="slide"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="finger"/><link name="tip"/><link name="cart"/><link name="drone"/>
  <joint name="j1" type="revolute"><origin xyz="0 0 0.3"/><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="j2" type="prismatic"><parent link="arm"/><child link="slide"/>
    <axis xyz="0 0.6 0.8"/><limit lower="0" upper="0.5" effort="10" velocity="2"/></joint>
  <joint name="j3" type="continuous"><parent link="slide"/><child link="finger"/>
    <mimic joint="j1" multiplier="-2" offset="0.5"/><axis xyz="1 0 0"/></joint>
  <joint name="j4" type="fixed"><parent link="finger"/><child link="tip"/></joint>
  <joint name="j5" type="planar"><parent link="base"/><child link="cart"/></joint>
  <joint name="j6" type="floating"><parent link="base"/><child link="drone"/></joint>
  <transmission name="t1"><joint name="j1"/><actuator name="a1">
    <drake:rotor_inertia value="1e-4"/><drake:gear_ratio value="100"/></actuator></transmission>
  <frame name="hand" link="tip" xyz="0 0 1" rpy="0 0 0"/>
</robot>
"""

TOKENS = [b"", b" ", b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"1e308", b"-1e60", b"0", b"-1"]
TOKENS += [b"1,5", b"0x10", b"${h}", b"$(arg x)", b"1 2", b"1 2 3", b"1 2 3 4", b"j1", b"base"]
TOKENS += [
    b"world",
    b"world ",
    b"fixed",
    b"planar",
    b"\xc2\xa0",
    b"\xff",
    b"&amp;",
    b"&#9;",
    b"9" * 999,
]
SNIPPETS = [
    b"<!DOCTYPE robot [<!ENTITY a 'b'>]>",
    b"&a;",
    b"&#0;",
    b"\0",
    b"<![CDATA[x]]>",
    b"<?pi x?>",
]
SNIPPETS += [
    b"<!-- -- -->",
    b"<",
    b">",
    b"/>",
    b"</robot>",
    b"<robot>",
    b"<a>" * 300,
    b"\xef\xbb\xbf",
]
SNIPPETS += [
    b"<mimic joint='j3'/>",
    b"<inertial/>",
    b"<axis/>",
    b"<origin rpy='1'/>",
    b"<xacro:if/>",
]
SNIPPETS += [
    b"<joint name='j1' type='fixed'/>",
    b"<link name='base'/>",
    b"<limit lower='2'/>",
    b"text",
]
WORDS = [
    b"link",
    b"joint",
    b"parent",
    b"child",
    b"inertial",
    b"mass",
    b"inertia",
    b"origin",
    b"axis",
]
WORDS += [b"limit", b"mimic", b"dynamics", b"robot", b"frame", b"transmission", b"name", b"type"]

VALUE = re.compile(rb'"[^"]*"')
ELEMENT = re.compile(rb"<[a-z_:]+[^<>]*/>")
Mutation = Callable[[bytes, random.Random], bytes]


def change_byte(data: bytes, rng: random.Random) -> bytes:
    """One byte becomes another."""
    i = rng.randrange(len(data) + 1)
    return data[:i] + bytes([rng.randrange(256)]) + data[i + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """A stretch is lost, or everything from some place on."""
    i = rng.randrange(len(data) + 1)
    return data[:i] if rng.random() < 0.2 else data[:i] + data[i + rng.randrange(1, 60) :]


def repeat(data: bytes, rng: random.Random) -> bytes:
    """A stretch occurs again, at once or elsewhere."""
    i, j = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    piece = data[i : i + rng.randrange(1, 300)]
    return data[:j] + piece + data[j:]


def insert(data: bytes, rng: random.Random) -> bytes:
    """Insert harmful text at a random place."""
    i = rng.randrange(len(data) + 1)
    return data[:i] + rng.choice(SNIPPETS) + data[i:]


def change_value(data: bytes, rng: random.Random) -> bytes:
    """An attribute has another value, nasty or taken from elsewhere."""
    values = list(VALUE.finditer(data))
    if not values:
        return data
    place = rng.choice(values)
    new = rng.choice(TOKENS) if rng.random() < 0.7 else rng.choice(values)[0][1:-1]
    return data[: place.start()] + b'"' + new + b'"' + data[place.end() :]


def change_word(data: bytes, rng: random.Random) -> bytes:
    """Every or one occurrence of a word of URDF becomes another, or changes its case."""
    old = rng.choice(WORDS)
    new = rng.choice([old.upper(), rng.choice(WORDS), old[:-1], b"xacro:" + old])
    return data.replace(old, new, rng.choice([1, -1]))


def drop_element(data: bytes, rng: random.Random) -> bytes:
    """An element is missing, or stands elsewhere."""
    elements = list(ELEMENT.finditer(data))
    if not elements:
        return data
    place = rng.choice(elements)
    rest = data[: place.start()] + data[place.end() :]
    if rng.random() < 0.5:
        return rest
    i = rng.randrange(len(rest) + 1)
    return rest[:i] + place[0] + rest[i:]


def change_encoding(data: bytes, rng: random.Random) -> bytes:
    """The bytes are in another encoding, with or without the declaration."""
    text = data.decode("utf-8", "replace")
    if rng.random() < 0.5:
        name = rng.choice(["latin-1", "utf-16", "utf-32", "zlib", "punycode", "utf-7", "ascii"])
        return text.replace('"utf-8"', f'"{name}"').encode("utf-8", "replace")
    return text.encode(rng.choice(["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "utf-7"]))


MUTATIONS: Sequence[Mutation] = (
    [change_value] * 4
    + [change_word, drop_element, repeat, insert] * 2
    + [change_byte, cut, change_encoding]
)


def mutants(corpus: Sequence[bytes], seed: int, count: int) -> Iterator[bytes]:
    """`count` broken files; number k of a seed is always the same one."""
    for k in range(count):
        rng = random.Random(f"{seed}/{k}")
        data = rng.choice(corpus)
        for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
            data = rng.choice(MUTATIONS)(data, rng)
        yield data


def read_text(data: bytes) -> object:
    """The records of a text."""
    return read_urdf(RobotFile("robot.urdf", decode(data, "robot.urdf")))


def failure(data: bytes, read: Callable[[bytes], object] = read_text) -> str:
    """Describe a wrong reaction of `read`; empty if it loads or raises our error."""
    start = time.perf_counter()
    try:
        read(data)
    except KinetreeError as error:
        if not str(error):
            return "an error without a message"
    except Exception:
        return traceback.format_exc()
    seconds = time.perf_counter() - start
    return f"took {seconds:.1f} s" if seconds > SLOW else ""


def corpus_of(places: Sequence[str]) -> list[bytes]:
    """The files given, all *.urdf below the folders given, and the built-in one."""
    files = [
        file
        for place in map(Path, places)
        for file in (sorted(place.rglob("*.urdf")) if place.is_dir() else [place])
    ]
    return [SEED_FILE] + [file.read_bytes() for file in files if file.stat().st_size < 200_000]


def main() -> int:
    """Run from the command line; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("places", nargs="*", help="URDF files or folders to start from")
    options = parser.parse_args()
    failures = 0
    for k, data in enumerate(mutants(corpus_of(options.places), options.seed, options.count)):
        problem = failure(data)
        if problem:
            failures += 1
            if failures <= 5:
                print(f"--- seed {options.seed}, number {k}\n{data[:2000]!r}\n{problem}")
    print(f"{options.count} files, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
