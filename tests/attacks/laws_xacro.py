"""Random xacro files against ROS's own xacro: the same elements, or a refusal."""

import contextlib
import io
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from attack_case import Skip, law, note

from kinetree.errors import KinetreeError
from kinetree.files.description.xacro import expand_xacro

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
# texts of attributes; a and b are numbers, c is a text, as properties; a and b are also arguments
LITERALS = ("1", "-2", "0.5", "1e-3", "3", "0", "'5'", "inf", "0x1f", "1_000", " 4 ")
NUMBERS = (
    *LITERALS[:6], "${a}", "${b + 1}", "$(arg a)", "$(eval a)", "$(eval a + b)", "$(eval 2 * pi)",
    "${2 * float('$(arg a)')}", "${a if b else 3}", "${-a ** 2}", "${a / 3}", "${7 // 2 % 3}",
    "${max(a, 2)}", "${round(a + 0.25, 1)}", "${sin(pi / 2)}", "${[i * 2 for i in [1, a]][1]}",
    "${[a, b][0]}", "${dict(k=a)['k']}", "$(eval a if b == 1 else 9)", "$(eval ${a} + a)",
)  # fmt: skip
TEXTS = (
    *LITERALS, "text", "", "x y", "true", "${a}${b}", "${[1, 2, a]}", "$(arg b)1", "$(eval e)",
    "${xacro.arg('a')}", "$${a}", "$$(arg a)", "${'%.3f' % 2.5}", "${str(a) + 'z'}", "${a == 1}",
    "$(optenv KINETREE_NOT_SET d f)", "${'a' in 'abc'}", "${c.upper()}", "${c}", "$(eval b == 1)",
    "$(eval [a, b])", "$(eval true)", "${True}", "a$b", "${b}_$(arg b)",
)  # fmt: skip
CONDITIONS = (
    "true", "False", "1", "0", "${a}", "${a == 1}", "${not b}", "$(eval a == 1)", "$(eval b)",
    "${c == 'text'}", "$(arg t)", "$(eval t and a == 1)", "$(eval not t)", "${[]}",
)  # fmt: skip
SCOPES = ("", "", "", ' scope="local"', ' scope="parent"', ' scope="global"')
LAZY = ("", "", ' lazy_eval="false"', ' lazy_eval="0"')


def one(rng, values):
    return values[int(rng.integers(len(values)))]


def text(rng):
    """The value of an attribute."""
    return one(rng, NUMBERS if rng.random() < 0.4 else TEXTS)


def property_of(rng):
    name = one(rng, ("a", "b", "c", "e", "p"))
    value = one(rng, NUMBERS) if name in "ab" else text(rng) if name != "c" else "text${a}"
    lazy = ' lazy_eval="false"' if name in "abc" and rng.random() < 0.9 else one(rng, LAZY)
    kind = one(rng, ("value", "value", "value", "default"))
    if rng.random() < 0.03:
        return f'<xacro:property name="{name}" remove="true"/>'
    return f'<xacro:property name="{name}" {kind}="{value}"{one(rng, SCOPES)}{lazy}/>'


def macro(rng, name, depth=1):
    """A macro; m0 takes no block, m1 takes one."""
    defaults = (":=1", ":=^", ":=^|7", ":=${a}", ":=$(arg a)")
    names = [x + one(rng, defaults) for x in ("a", "b", "p") if rng.random() < 0.7]
    block = one(rng, (" *block", " **block")) if name == "m1" else ""
    insert = '<xacro:insert_block name="block"/>' if block else ""
    return (
        f'<xacro:macro name="{name}" params="{" ".join(names)}{block}">{content(rng, depth)}'
        f'{insert}<link name="{text(rng)}" p="${{a}}"/></xacro:macro>'
    )


def call(rng):
    given = f' a="{one(rng, NUMBERS)}"' if rng.random() < 0.3 else ""
    name = one(rng, ("m0", "m1", "m2", "n.m2"))
    block = f'<x k="{text(rng)}"><y/></x>' if name == "m1" else ""
    if rng.random() < 0.2:
        return f'<xacro:call macro="{name}"{given}>{block}</xacro:call>'
    return f"<xacro:{name}{given}>{block}</xacro:{name}>"


def element(rng, depth=0):
    """A piece of a file."""
    kind = int(rng.integers(12))
    inner = content(rng, depth + 1) if depth < 3 else ""
    if kind < 3:
        return property_of(rng)
    if kind == 3:
        word = one(rng, ("if", "unless"))
        return f'<xacro:{word} value="{one(rng, CONDITIONS)}">{inner}</xacro:{word}>'
    if kind == 4 and depth:
        return macro(rng, one(rng, ("m0", "m1")), 3)
    if kind in (5, 6) and depth < 2:
        return call(rng)
    if kind == 7:
        return f'<xacro:arg name="{one(rng, ("a", "d", "e"))}" default="{one(rng, NUMBERS)}"/>'
    if kind == 8:
        space = one(rng, ("", ' ns="n"'))
        return f'<xacro:include filename="part.xacro"{space}/>'
    if kind == 9:
        return f'<g><xacro:attribute name="k" value="k{text(rng)}"/></g>'
    return f'<link name="{text(rng)}" v="{text(rng)}">{inner}</link>'


def content(rng, depth=0):
    return "".join(element(rng, depth) for _ in range(int(rng.integers(1, 5 - depth))))


def reference(path, arguments):
    """The root that ROS expands a file to; None if it refuses."""
    try:
        import xacro
    except ImportError:
        raise Skip from None
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return ElementTree.fromstring(xacro.process_file(str(path), mappings=arguments).toxml())
        except Exception:
            return None


def plain(tag, attributes, own_text, children):
    known = sorted((k, v) for k, v in attributes.items() if not k.startswith("xmlns"))
    return tag, known, " ".join((own_text or "").split()), children


def from_ros(element):
    return plain(element.tag, element.attrib, element.text, [from_ros(x) for x in element])


def from_ours(element):
    children = [from_ours(x) for x in element.children]
    return plain(element.tag, element.attributes, element.text, children)


@law(ci=40, weight=0.5)
def law_random_xacro_is_that_of_ros_or_refused(rng):
    part = f'{HEAD}<xacro:macro name="m2" params="a:=4"><link name="${{a}}"/></xacro:macro>'
    part += f"{property_of(rng)}</robot>"
    declared = "".join(
        f'<xacro:arg name="{x}" default="{one(rng, LITERALS[:6])}"/>' for x in ("a", "b")
    )
    declared += '<xacro:arg name="t" default="true"/>'
    start = "".join(f'<xacro:property name="{x}" value="{one(rng, LITERALS[:6])}"/>' for x in "ab")
    start += '<xacro:property name="c" value="text"/><xacro:include filename="part.xacro"/>'
    start += '<xacro:include filename="part.xacro" ns="n"/>'
    start = declared + start + macro(rng, "m0", 3) + macro(rng, "m1", 3)
    source = f"{HEAD}{start}{content(rng)}{content(rng)}</robot>"
    given = {"a": LITERALS[:6], "e": TEXTS[:14], "zz": LITERALS, "t": ("False", "1", "TRUE")}
    arguments = {x: one(rng, values) for x, values in given.items() if rng.random() < 0.3}
    note(rng, source=source, part=part, arguments=arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xacro"
        path.write_text(source)
        (Path(folder) / "part.xacro").write_text(part)
        expected = reference(path, dict(arguments))
        try:
            found = from_ours(expand_xacro(path, arguments=arguments).root)
        except KinetreeError as error:
            note(rng, refusal=error)
            return
    if expected is not None:
        assert found == from_ros(expected)
