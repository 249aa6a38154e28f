"""Files of xacro against the reference implementation: both expand to the same elements."""

from xml.etree import ElementTree

import pytest

from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.source import RobotFile
from kinetree.files.description.xacro import expand_xacro

HEAD = '<?xml version="1.0"?>\n<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
SNIPPETS = {
    "properties": """<xacro:property name="a" value="2"/>
        <xacro:property name="b" value="${a + 1}"/>
        <link name="l${a}_${b}" x="${a / 4} ${a * 0.5}" y="$$${a} ${'%.3f' % pi}"/>""",
    "late evaluation": """<xacro:property name="b" value="${a}"/>
        <xacro:property name="a" value="1"/>
        <xacro:property name="c" value="${a}" lazy_eval="false"/>
        <xacro:property name="a" value="2"/><link name="l${b}${c}"/>""",
    "defaults": """<xacro:property name="a" default="1"/><xacro:property name="a" default="2"/>
        <xacro:property name="b" value="3"/><xacro:property name="b" default="4"/>
        <link name="l${a}${b}"/>""",
    "scopes": """<xacro:property name="a" value="0"/>
        <xacro:macro name="m" params="v"><xacro:property name="a" value="${v}"/>
        <xacro:property name="up" value="${v}" scope="parent"/>
        <xacro:property name="all" value="${10 * v}" scope="global"/><link name="i${a}"/>
        </xacro:macro>
        <xacro:macro name="o" params="v"><xacro:m v="${v + 1}"/><link name="o${up}"/></xacro:macro>
        <xacro:o v="4"/><link name="l${a}${all}"/>""",
    "removal": """<xacro:property name="a" value="1"/><link name="l${a}"/>
        <xacro:property name="a" remove="true"/><xacro:property name="a" default="7"/>
        <link name="m${a}"/>""",
    "types": """<xacro:property name="n" value="1e-3"/><xacro:property name="t" value="text"/>
        <xacro:property name="q" value="'5'"/><xacro:property name="v" value="${[1, 2, 3]}"/>
        <xacro:property name="d" value="${dict(a=1, b=2)}"/><xacro:property name="f" value="false"/>
        <link name="a" n="${n * 2}" t="${t + 'x'}" q="${q + 1}" v="${v[1]}" d="${d['b']}"
        f="${not f}" w="${max(v)} ${len(v)}" z="${v}"/>""",
    "conditions": """<xacro:property name="k" value="2"/>
        <xacro:if value="${k == 2}"><link name="a"/></xacro:if>
        <xacro:unless value="${k == 2}"><link name="b"/></xacro:unless>
        <xacro:if value="0"><link name="c"/></xacro:if>
        <xacro:if value="true"><link name="d"/></xacro:if>
        <xacro:unless value="False"><link name="e"><xacro:if value="1"><v/></xacro:if></link>
        </xacro:unless>""",
    "arguments": """<xacro:arg name="h" default="3"/><xacro:arg name="h" default="4"/>
        <xacro:arg name="g" default="$(arg h)5"/>
        <link name="l$(arg h)" v="$(arg g)"
        w="${2 * int('$(arg h)')}" u="$(eval 1 + 2)"/>""",
    "eval": """<xacro:arg name="m" default="1"/><xacro:property name="m" value="5"/>
        <xacro:arg name="e" default="x"/><xacro:arg name="f" default="False"/>
        <xacro:arg name="n" default="1e-3"/><xacro:arg name="d" default="-0.5"/>
        <link name="a" m="$(eval m)" p="${m}" e="$(eval e)" f="$(eval not f)" n="$(eval n)"
        d="$(eval d * 2 if m == 1 else 0)" l="$(eval [m, d, pi][m])" i="$(eval ${m} + m)"/>
        <xacro:if value="$(eval m == 1 and not f)"><link name="b"/></xacro:if>""",
    "local": """<xacro:property name="x" value="1" scope="local"/><xacro:macro name="m" params="">
        <xacro:property name="x" value="2" scope="local"/><link name="${x}"/></xacro:macro>
        <xacro:m/><link name="${x}"/>""",
    "undeclared": """<link name="a"/>""",
    "macros": """<xacro:macro name="m" params="a b:=2 c:=${3 + 4} d:='x y' e:=''">
        <link name="${a}_${b}_${c}" d="${d}" e="${e}"/></xacro:macro>
        <xacro:m a="1"/><xacro:m a="1" b="7"/><xacro:m a="z" c="9" d="q"/>""",
    "forwarded": """<xacro:property name="a" value="5"/>
        <xacro:macro name="m" params="a:=^ b:=^|6"><link name="${a}_${b}"/></xacro:macro>
        <xacro:m/><xacro:m a="1"/><xacro:property name="b" value="8"/><xacro:m/>""",
    "blocks": """<xacro:macro name="m" params="n *one **all"><link name="${n}">
        <xacro:insert_block name="one"/><w><xacro:insert_block name="all"/></w></link></xacro:macro>
        <xacro:m n="a"><origin xyz="1 2 ${6 / 2}"/><xs><y k="${1 + 1}"/><z/></xs></xacro:m>
        <xacro:property name="p"><u/><v w="${3}"/></xacro:property>
        <link name="b"><xacro:insert_block name="p"/></link>""",
    "recursion": """<xacro:macro name="m" params="n"><xacro:if value="${n > 0}"><link name="l${n}"/>
        <xacro:m n="${n - 1}"/></xacro:if></xacro:macro><xacro:m n="3"/>""",
    "calls": """<xacro:macro name="m" params="a"><link name="m${a}"/></xacro:macro>
        <xacro:property name="which" value="m"/><xacro:call macro="${which}" a="1"/>""",
    "elements": """<xacro:element xacro:name="${'li' + 'nk'}" name="a"><b/></xacro:element>
        <link name="c"><xacro:attribute name="d" value="x${1 + 1}"/></link>""",
    "text after a property": """<link name="a"><t><xacro:property name="late" value="7"/>${late}</t>
        </link>""",
    "text": """<link name="a"><t>one ${1 + 1} $(arg u)</t><s>plain</s></link>""",
    "include": """<xacro:include filename="part.xacro"/><xacro:part n="${k}"/>""",
    "include of a folder": """<xacro:include filename="sub/inner.xacro"/><link name="${inner}"/>""",
    "namespace": """<xacro:include filename="part.xacro" ns="p"/><xacro:p.part n="${p.k + 1}"/>""",
    "patterns": """<xacro:include filename="sub/*.xacro"/><link name="${inner}"/>""",
    "optional": """<xacro:include filename="absent.xacro" optional="true"/><link name="a"/>""",
    "environment": """<link name="a" c="$(optenv NOT_THERE_9 x y)"
        d="$(env KINETREE_X)"/>""",
    "yaml": """<xacro:property name="y" value="${xacro.load_yaml('data.yaml')}"/>
        <link name="a" b="${y['k']}" c="${y['l'][1]}" d="${y.m.n}"/>""",
    "loops": """<link name="a" b="${[i * i for i in range(4) if i % 2]}"
        c="${' '.join(str(x) for x in [0.5, 1])}" d="${max(1, 2)} ${round(2.567, 1)}"/>""",
}  # fmt: skip
FILES = {
    "part.xacro": """<xacro:property name="k" value="4"/><xacro:macro name="part" params="n">
        <link name="part${n}"/></xacro:macro>""",
    "sub/inner.xacro": """<xacro:property name="inner" value="in"/><xacro:include
        filename="deeper.xacro"/>""",
    "sub/deeper.xacro": """<link name="deep"/>""",
}


@pytest.fixture(scope="module")
def reference():
    package = pytest.importorskip("xacro", reason="the reference implementation is not installed")
    return lambda path, arguments: package.process_file(str(path), mappings=arguments).toxml()


def canonical(element, tag, attributes, children, text):
    return (
        tag(element),
        sorted((k, v) for k, v in attributes(element).items() if not k.startswith("xmlns")),
        text(element),
        [canonical(child, tag, attributes, children, text) for child in children(element)],
    )


def expected_of(text):
    def plain(element):
        return isinstance(element.tag, str)

    return canonical(
        ElementTree.fromstring(text),
        lambda e: e.tag,
        lambda e: dict(e.attrib),
        lambda e: [child for child in e if plain(child)],
        lambda e: (e.text or "").strip(),
    )


def found_of(root):
    return canonical(
        root,
        lambda e: e.tag,
        lambda e: e.attributes,
        lambda e: e.children,
        lambda e: e.text.strip(),
    )


def written(folder, snippet):
    for name, text in {**FILES, "robot.xacro": snippet}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"{HEAD}{text}</robot>")
    (folder / "data.yaml").write_text("k: 1.5\nl: [a, b]\nm:\n  n: true\n")
    return folder / "robot.xacro"


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_file_expands_as_the_reference_does(name, reference, tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_X", "out of the environment")
    path = written(tmp_path, SNIPPETS[name])
    arguments = {
        "text": {"u": "given"},
        "arguments": {"h": "30"},
        "undeclared": {"nothing": "1"},
    }.get(name, {})
    monkeypatch.chdir(tmp_path)  # where the reference looks for files of YAML and includes
    file = RobotFile(path, arguments=arguments, environment=name == "environment")
    found, _ = expand_xacro(file, Findings())
    assert found_of(found) == expected_of(reference(path, dict(arguments)))


REFUSED = [
    '<xacro:property name="1a" value="1"/>',
    '<xacro:property name="__a" value="1"/>',
    '<xacro:property name="a" value="1" scope="other"/>',
    '<xacro:property name="a" value="1" default="2"/>',
    '<xacro:macro name="if"/>',
    '<xacro:macro name="a.b"/>',
    '<xacro:macro name="m" params="a :"/>',
    '<xacro:element xacro:name="1"/>',
    "<xacro:element/>",
    '<link name="l"><xacro:attribute name="1" value="2"/></link>',
    '<link name="l"><xacro:insert_block name="b"/></link>',
    '<xacro:include filename="absent.xacro"/>',
    '<xacro:if value="${1 +}"/>',
    '<xacro:if value="perhaps"/>',
    "<xacro:nothing/>",
    '<link name="${a"/>',
]


@pytest.mark.parametrize("snippet", REFUSED)
def test_what_cannot_be_expanded_is_refused_with_its_place(snippet, tmp_path):
    path = written(tmp_path, snippet)
    with pytest.raises(ParseError) as caught:
        expand_xacro(RobotFile(path), Findings())
    assert "robot.xacro:3" in str(caught.value)
