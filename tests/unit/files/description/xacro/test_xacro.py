"""Xacro files: macros, arguments, includes, packages, and what is said when they do not work."""

import math
import os
import sys

import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeError, KinetreeWarning, ParseError
from kinetree.files.description.urdf import read_urdf
from kinetree.files.description.xacro import expand_xacro
from kinetree.files.description.xml import xml_text

HEAD = '<?xml version="1.0"?>\n<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
ARM = f"""{HEAD}
  <xacro:include filename="$(find parts)/part.xacro"/>
  <xacro:arg name="height" default="0.5"/>
  <link name="base"/>
  <xacro:part name="a" height="$(arg height)"/>
</robot>"""
PART = f"""{HEAD}
  <xacro:macro name="part" params="name height">
    <link name="${{name}}"/>
    <joint name="j_${{name}}" type="fixed"><origin xyz="0 0 ${{FACTOR * height}}"/>
      <parent link="base"/><child link="${{name}}"/></joint>
  </xacro:macro>
</robot>"""
PACKAGE = "<package format='3'><name>{}</name><version>1.0.0</version></package>"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def part(folder, factor=2, name="parts"):
    """A package of that name in a folder."""
    write(folder / "package.xml", PACKAGE.format(name))
    return write(folder / "part.xacro", PART.replace("FACTOR", str(factor)))


def height(path, **options):
    return kt.load(path, **options).model.frames["a"].T_if[2, 3]


def robot(tmp_path, inside, name="robot.xacro"):
    return write(tmp_path / name, f"{HEAD}{inside}</robot>")


def links(path, arguments=None):
    """Names of the links that a file expands to."""
    return [x.attributes["name"] for x in expand_xacro(path, (), arguments).root.all("link")]


def refused(path, **options):
    with pytest.raises(KinetreeError) as caught:
        kt.load(path, **options)
    return str(caught.value)


@pytest.fixture
def arm(tmp_path):
    part(tmp_path / "packages" / "parts")
    return write(tmp_path / "robot" / "arm.urdf.xacro", ARM)


def test_two_workspaces_in_one_process_give_two_robots(tmp_path):
    for name, factor in (("one", 2), ("two", 30)):
        part(tmp_path / name / "parts", factor)
        write(tmp_path / name / "arm_description" / "package.xml", PACKAGE.format("arm"))
        write(tmp_path / name / "arm_description" / "arm.urdf.xacro", ARM)
    paths = [tmp_path / name / "arm_description" / "arm.urdf.xacro" for name in ("one", "two")]
    assert [height(path) for path in paths] == [1.0, 15.0]
    assert [height(path, folders=[path.parents[1]]) for path in paths] == [1.0, 15.0]


def test_one_file_with_two_folders_gives_two_robots(arm, tmp_path):
    part(tmp_path / "others" / "parts", 30)
    assert height(arm, folders=[tmp_path / "packages"]) == 1.0
    assert height(arm, folders=[tmp_path / "others"]) == 15.0
    assert height(arm, folders=[tmp_path / "packages"]) == 1.0


def test_an_include_is_relative_to_its_file_and_never_to_the_current_folder(tmp_path, monkeypatch):
    here = robot(tmp_path / "here", '<xacro:include filename="inner/part.xacro"/>')
    write(
        tmp_path / "here" / "inner" / "part.xacro",
        f'{HEAD}<xacro:include filename="b.xacro"/></robot>',
    )
    write(tmp_path / "here" / "inner" / "b.xacro", f'{HEAD}<link name="right"/></robot>')
    for folder in ("", "inner"):
        write(tmp_path / folder / "b.xacro", f'{HEAD}<link name="wrong"/></robot>')
        write(tmp_path / folder / "part.xacro", f'{HEAD}<link name="wrong"/></robot>')
    for folder in (tmp_path, tmp_path / "here", tmp_path / "inner"):
        monkeypatch.chdir(folder)
        assert links(here) == ["right"]
        assert links(os.path.relpath(here)) == ["right"]


def test_a_missing_include_is_not_taken_from_the_current_folder(tmp_path, monkeypatch):
    path = robot(tmp_path / "here", '<xacro:include filename="b.xacro"/>')
    write(tmp_path / "b.xacro", f'{HEAD}<link name="wrong"/></robot>')
    monkeypatch.chdir(tmp_path)
    text = refused(path)
    assert "robot.xacro:3:1" in text or "robot.xacro:2" in text
    assert str(tmp_path / "here" / "b.xacro") in text


def test_a_macro_can_name_a_file_beside_itself(tmp_path):
    path = robot(tmp_path, '<xacro:include filename="lib/m.xacro"/><xacro:m/>')
    include = '<xacro:macro name="m"><xacro:include filename="beside.xacro"/></xacro:macro>'
    write(tmp_path / "lib" / "m.xacro", f"{HEAD}{include}</robot>")
    write(tmp_path / "lib" / "beside.xacro", f'{HEAD}<link name="beside"/></robot>')
    assert links(path) == ["beside"]
    write(tmp_path / "beside.xacro", f'{HEAD}<link name="reader"/></robot>')
    assert links(path) == ["reader"]  # as in ROS; and both are named
    assert "beside.xacro" in " ".join(x.text for x in read_urdf(path).warnings)


def test_a_package_is_found_by_the_name_in_its_package_xml(arm, tmp_path):
    (tmp_path / "packages" / "parts").rename(tmp_path / "packages" / "parts-2.0")
    assert height(arm, folders=[tmp_path / "packages"]) == 1.0


def test_arguments_reach_the_file_and_the_report(arm, tmp_path):
    options = {"folders": [tmp_path / "packages"]}
    assert height(arm, arguments={"height": 2}, **options) == 4.0
    assert height(arm, arguments={"height": "3"}, **options) == 6.0
    report = str(kt.load(arm, arguments={"height": 2}, **options).report)
    assert "height:=2 (given)" in report
    assert str(tmp_path / "packages" / "parts") in report
    assert "height:=0.5" in str(kt.load(arm, **options).report)


def test_an_argument_that_the_file_does_not_have_is_ignored_with_a_warning(arm, tmp_path):
    """As in ROS, where a launch file gives one set of arguments to several files."""
    options = {"arguments": {"hight": 2}, "folders": [tmp_path]}
    with pytest.warns(KinetreeWarning, match="no argument 'hight'. Is 'height' meant") as caught:
        assert height(arm, **options) == 1.0
    assert "height:=0.5" in str(caught[0].message)
    assert "no argument 'hight'" in refused(arm, strict=True, **options)


def test_a_misspelt_argument_is_named_where_the_file_fails_without_it(tmp_path):
    inside = '<xacro:arg name="kind" default="x"/><xacro:include filename="$(arg kind).xacro"/>'
    text = refused(robot(tmp_path, inside), arguments={"kid": "a"})
    assert "x.xacro" in text and "no argument 'kid'. Is 'kind' meant?" in text


def test_a_missing_argument_is_named_with_all_that_the_file_has(tmp_path):
    path = robot(tmp_path, '<xacro:arg name="a" default="1"/><link name="$(arg b)$(arg a)"/>')
    text = refused(path)
    assert "'b' has no value" in text and "a:=1, b (required)" in text and "--arg b:=" in text
    assert links(path, {"b": True}) == ["true1"]


@pytest.mark.parametrize("arguments", [["a"], {"a": None}, {1: "a"}, {"a": [1]}])
def test_arguments_of_other_kinds_are_refused(arm, arguments):
    with pytest.raises(InputError, match="argument"):
        kt.load(arm, arguments=arguments)


@pytest.mark.parametrize("name", ["plain.urdf", "plain.xml"])
def test_arguments_for_a_file_without_any_are_refused(tmp_path, name):
    path = write(tmp_path / name, '<robot name="x"><link name="a"/></robot>')
    with pytest.raises(InputError, match="takes no arguments"):
        kt.load(path, arguments={"a": "1"})


def test_the_name_of_the_robot_may_be_an_argument_declared_inside(tmp_path):
    text = HEAD.replace('"arm"', '"$(arg name)"')
    path = write(
        tmp_path / "r.xacro",
        f'{text}<xacro:arg name="name" default="nemo"/><link name="a"/></robot>',
    )
    assert kt.load(path).name == "nemo"
    assert kt.load(path, arguments={"name": "otto"}).name == "otto"


def test_elements_keep_the_file_and_line_they_come_from(arm, tmp_path):
    description = read_urdf(arm, package_paths=[tmp_path])
    assert description.joints[0].where == "part.xacro:6"
    assert description.links[0].where == "arm.urdf.xacro:6"


def test_the_ending_may_be_in_capitals(arm, tmp_path):
    loud = arm.rename(arm.with_name("ARM.XACRO"))
    assert height(loud, folders=[tmp_path]) == 1.0


def test_a_library_of_macros_is_named_as_such(tmp_path):
    assert "defines macros (part)" in refused(part(tmp_path / "parts"))


def test_without_yaml_the_error_names_the_extra(tmp_path, monkeypatch):
    path = robot(tmp_path, "<link name=\"${xacro.load_yaml('a.yaml')}\"/>")
    write(tmp_path / "a.yaml", "1")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(KinetreeError, match=r"kinetree\[xacro\]") as caught:
        read_urdf(path)
    assert isinstance(caught.value, ImportError)


M = '<xacro:macro name="m" params='
X = '<xacro:property name="x" value='
CONTENT = {  # what stands in the file: the links that it gives
    '<xacro:if value="true"><link name="a"/></xacro:if>': ["a"],
    '<xacro:if value="0"><link name="a"/></xacro:if><link name="b"/>': ["b"],
    '<xacro:unless value="${1 > 2}"><link name="a"/></xacro:unless>': ["a"],
    f'{X}"3"/><link name="a${{x + 1}}"/>': ["a4"],
    f'{X}"${{y}}"/><xacro:property name="y" value="2"/><link name="a${{x}}"/>': ["a2"],
    f'{X}"1"/><xacro:property name="x" default="2"/><link name="a${{x}}"/>': ["a1"],
    '<xacro:property name="b"><link name="a"/></xacro:property>'
    '<xacro:insert_block name="b"/>': ["a"],
    f'{M}"x:=1 y:=${{x}}"><link name="a${{x}}"/></xacro:macro><xacro:m x="2" y="0"/>': ["a2"],
    f"""{M}"p:='b c'"><link name="${{p}}"/></xacro:macro><xacro:m/>""": ["b c"],
    f"""{M}"x:='3'"><link name="${{x + '1'}}"/></xacro:macro><xacro:m/>""": ["31"],
    f'{X}"7"/>{M}"x:=^"><link name="a${{x}}"/></xacro:macro><xacro:m/>': ["a7"],
    f'{M}"x:=^|5"><link name="a${{x}}"/></xacro:macro><xacro:m/>': ["a5"],
    f'{M}"*one **all"><xacro:insert_block name="one"/><xacro:insert_block name="all"/>'
    '</xacro:macro><xacro:m><link name="a"/><x><link name="b"/><link name="c"/></x></xacro:m>': [
        "a", "b", "c"
    ],
    f'{M}"n"><link name="a${{n}}"/><xacro:if value="${{n}}"><xacro:m n="${{n - 1}}"/>'
    '</xacro:if></xacro:macro><xacro:m n="2"/>': ["a2", "a1", "a0"],
    f'{M}"">{X}"4" scope="parent"/></xacro:macro><xacro:m/><link name="a${{x}}"/>': ["a4"],
    f'{M}"x"><link name="a${{x}}"/></xacro:macro><xacro:call macro="m" x="1"/>': ["a1"],
    f'{X}"8"/>{M}""><link name="a${{x}}"/></xacro:macro>{X}"9"/><xacro:m/>': ["a9"],
    '<xacro:element xacro:name="link" name="a"/>': ["a"],
    '<link><xacro:attribute name="name" value="a${1}"/></link>': ["a1"],
    '<link name="$${x}"/>': ["${x}"],
    '<link name="${[2 * i for i in range(3)][-1]}"/>': ["4"],
    "<link name=\"${'a' if 2 in [1, 2] else 'b'}\"/>": ["a"],
    "<link name=\"${'_'.join(['a', 'b']).upper()}\"/>": ["A_B"],
    '<link name="${round(degrees(pi / 2))}"/>': ["90"],
    '<link name="${0.1 + 0.2}"/>': ["0.30000000000000004"],
    '<link name="$(eval 2 * (1 + (2)))"/>': ["6"],
    '<link name="$(optenv KINETREE_NO_SUCH_VARIABLE a b)"/>': ["a b"],
    "<link name=\"${dict(a=1, b=2)['b']}\"/>": ["2"],
    "<link name=\"${len(xacro.tokenize('a, b;c'))}\"/>": ["3"],
}  # fmt: skip


@pytest.mark.parametrize("inside", CONTENT)
def test_the_language(tmp_path, inside):
    assert links(robot(tmp_path, inside)) == CONTENT[inside]


def reference(path, monkeypatch):
    """Link names by the reference implementation, the package xacro."""
    module = pytest.importorskip("xacro", reason="the package xacro is not installed")
    monkeypatch.chdir("/")
    document = module.process_file(str(path))
    return [x.getAttribute("name") for x in document.getElementsByTagName("link")]


OURS_ONLY = ("$(eval", "range(")  # errors or a message on stderr there


@pytest.mark.parametrize("inside", [x for x in CONTENT if not any(y in x for y in OURS_ONLY)])
def test_the_reference_implementation_gives_the_same(tmp_path, inside, monkeypatch):
    assert reference(robot(tmp_path, inside), monkeypatch) == CONTENT[inside]


def test_a_property_of_an_outer_scope_is_evaluated_at_once(tmp_path, monkeypatch):
    """Its value is made of parameters that the outer scope does not have."""
    for scope in ("parent", "global"):
        inside = f'{M}"y">{X}"${{y + 1}}" scope="{scope}"/></xacro:macro><xacro:m y="1"/>'
        path = robot(tmp_path, f'{inside}<link name="a${{x}}"/>')
        assert links(path) == reference(path, monkeypatch) == ["a2"]


def test_environment_variables_are_read_where_that_is_allowed(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_TEST_NAME", "from outside")
    inside = "<link name='$(env KINETREE_TEST_NAME)'/><link name='$(optenv KINETREE_TEST_NAME x)'/>"
    path = robot(tmp_path, inside + "<link name='$(optenv KINETREE_NOT_SET y)'/>")
    found = expand_xacro(path, environment=True).root.all("link")
    assert [x.attributes["name"] for x in found] == ["from outside", "from outside", "y"]
    path = robot(tmp_path, "<link name='a' x='$(env KINETREE_NOT_SET)'/>")
    assert "'KINETREE_NOT_SET' is not set" in refused(path, environment=True)


EVALUATED = {  # text of an attribute: its value with the arguments a:=1, b:=2.5, t:=true, w:=word
    "$(eval a)": "1",
    "$(eval a + b)": "3.5",
    "$(eval t and a == 1)": "True",
    "$(eval w + '_x')": "word_x",
    "$(eval e)": str(math.e),  # mathematics hides an argument of that name
    "$(eval len(w))": "4",
    "$(eval arg('a') + 1)": "2",
    "$(eval optenv('KINETREE_NOT_SET', 'd'))": "d",
    "$(eval [a, ${m}])": "[1, 5]",
    "${m + 1}": "6",
}


@pytest.mark.parametrize("text", EVALUATED)
def test_eval_sees_arguments_and_no_properties(tmp_path, text):
    """An argument and a property of one name: $(eval ...) has the one, ${...} the other."""
    given = {"a": 1, "b": 2.5, "t": True, "w": "word", "m": 1, "e": 7}
    declared = "".join(f'<xacro:arg name="{name}" default="9"/>' for name in given)
    inside = f'{declared}<xacro:property name="m" value="5"/><xacro:property name="p" value="3"/>'
    path = robot(tmp_path, f'{inside}<link name="{text}" x="$(eval m)"/>')
    (link,) = expand_xacro(path, arguments=given).root.all("link")
    assert link.attributes == {"name": EVALUATED[text], "x": "1"}
    message = refused(robot(tmp_path, f'{inside}<link name="$(eval p)"/>'))
    assert "'p' is not an argument" in message and "the property is ${p}" in message


def test_a_property_of_the_local_scope(tmp_path):
    inside = f'{X}"1"/>{M}"">{X}"4" scope="local"/><link name="a${{x}}"/></xacro:macro><xacro:m/>'
    assert links(robot(tmp_path, f'{inside}<link name="b${{x}}"/>')) == ["a4", "b1"]


def test_the_folder_of_the_file_and_the_current_folder_can_be_named(tmp_path, monkeypatch):
    path = robot(tmp_path / "here", '<link name="$(dirname)"/><link name="$(cwd)"/>')
    monkeypatch.chdir(tmp_path)
    assert links(path) == [str(tmp_path / "here"), str(tmp_path)]


def test_yaml_files_with_units(tmp_path):
    write(tmp_path / "c.yaml", "a: {b: [1, 2.5]}\nangle: !degrees 180\nx: !millimeters 2 * 5\n")
    inside = "<xacro:property name='c' value=\"${xacro.load_yaml('c.yaml')}\"/>"
    names = "<link name=\"${c.a.b[1]} ${c['angle'] / pi} ${c.x}\"/>"
    assert links(robot(tmp_path, inside + names)) == ["2.5 1.0 0.01"]


def test_a_namespace_keeps_macros_and_properties_apart(tmp_path):
    write(tmp_path / "n.xacro", f'{HEAD}<xacro:property name="x" value="1"/><xacro:macro name="m">'
          '<link name="n${x}"/></xacro:macro></robot>')  # fmt: skip
    inside = '<xacro:include filename="n.xacro" ns="n"/><xacro:n.m/><link name="a${n.x}"/>'
    assert links(robot(tmp_path, inside)) == ["n1", "a1"]
    assert "no macro 'm'" in refused(robot(tmp_path, inside.replace("n.m", "m")))


FAULTS = {
    '<link name="${1 / 0}"/>': "division by zero",
    '<link name="${nothing}"/>': "name 'nothing' is not defined",
    '<link name="${"/>': "not closed",
    '<link name="$(eval (1)"/>': "a parenthesis is missing",
    '<link name="$(find no_such_package)"/>': "'no_such_package' is not found",
    '<link name="$(find ../../etc)"/>': "not the name of a package",
    '<link name="$(what x)"/>': "expected one of find, arg",
    '<link name="$(env KINETREE_NO_SUCH_VARIABLE)"/>': "'KINETREE_NO_SUCH_VARIABLE' is not read",
    '<link name="$(eval __import__)"/>': "two underscores",
    '<xacro:m name="a"/>': "no macro 'm'",
    '<xacro:macro name="m" params="a b:=1"/><xacro:m c="1"/>': "no parameter 'c'; expected a, b",
    '<xacro:macro name="m" params="a"/><xacro:m/>': "needs the parameter 'a'",
    '<xacro:macro name="m" params="*a"/><xacro:m/>': "needs the block '*a'",
    '<xacro:macro name="m"/><xacro:m><link/></xacro:m>': "no use for <link>",
    '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>': "nested too deeply",
    '<xacro:include filename="robot.xacro"/>': "does a file include itself",
    '<xacro:property name="x" value="${x}"/><link name="${x}"/>': "depends on itself",
    '<xacro:if value="perhaps"/>': "expected true, false",
    '<xacro:insert_block name="b"/>': "no block of that name",
    '<xacro:property name="1x" value="2"/>': "letters, digits and underscores",
    '<xacro:property name="__x" value="2"/>': "no two underscores",
    '<xacro:property name="x" value="2" default="3"/>': "more than one of value, default",
    '<xacro:property name="x" value="2" scope="all"/>': "expected 'local', 'parent' or 'global'",
    '<xacro:macro name="a.b"/>': "without dots",
    '<xacro:macro name="m" params=":="/>': "is not a parameter",
    '<xacro:macro name="m" params="x x:=3"/>': "has 'x' twice; expected it once",
    "<a>${factorial(4)}</a>": "'factorial' is left out, because its results have no bound",
    '<xacro:element xacro:name="1"/>': "expected the name of an element",
    '<x><xacro:attribute name="" value="1"/></x>': "expected the name of an attribute",
    "<link name=\"${xacro.load_yaml('none.yaml')}\"/>": "there is no file",
    "<link name=\"${xacro.fatal('stop', 'here')}\"/>": "stop here",
    '<xacro:include/>': "no attribute 'filename'",
    '<xacro:include filename="http://x/y"/>': "begins with 'http'",
    '<xacro:include filename="package://parts/../x"/>': "leads out of its package",
}  # fmt: skip


@pytest.mark.parametrize("inside", FAULTS)
def test_what_cannot_be_expanded_is_named_with_its_place(tmp_path, inside):
    path = robot(tmp_path, f"\n{inside}")
    with pytest.raises(ParseError) as caught:
        read_urdf(path)
    assert FAULTS[inside] in str(caught.value)
    assert str(caught.value).startswith("robot.xacro:")


LARGE = {  # refused before they are computed
    "range(10 ** 12)": "a range has",
    "'%999999999d' % 1": "too wide",
    "f'{1:999999999}'": "too wide",
    "'a' * 10 ** 10": "would have",
    "10 ** 10 * [0]": "would have",
    "9 ** 9 ** 9": "a power would",
    "('a' * 90000).replace('a', 'b' * 90000)": "replacements would",
    "('a' * 90000).join(['b'] * 30000)": "joined text would",
    "round(10, -10 ** 9)": "digits",
    "'a' * 99999 + 'a' * 99999": "more than 100000",
    "2 ** 4000 * 2 ** 4000": "bits",
    "[[]] * 60000 + [[]] * 60000": "more than 100000",
    "['a' * 60000] * 2": "more than 100000",
    "dict(zip(range(60000), range(60000)))": "more than 100000",
}


@pytest.mark.parametrize("expression", LARGE)
def test_large_values_are_refused_before_they_are_computed(tmp_path, expression):
    assert LARGE[expression] in refused(robot(tmp_path, f'<link name="$(eval {expression})"/>'))


HOSTILE = [
    "().__class__.__bases__[0].__subclasses__()",
    "(lambda: ().__class__)()",
    "[x.__class__ for x in [1]]",
    "''.format(1)",
    "'{0.__class__}'.format(1)",
    "math.__loader__",
    "python.type(1)",
    "open('/etc/passwd')",
    "__import__('os')",
    "getattr(1, 'real')",
    "(1).__class__",
    "str.__subclasses__()",
    "xacro.load_yaml.__globals__",
    "9 ** 9 ** 9 ** 9",
    "[0] * 10 ** 9",
    "[[['a' * 1000] * 1000] * 1000] * 1000",
    "1 << 10 ** 10",
    "factorial(10 ** 6)",
    "[x for a in range(9999) for b in range(9999) for x in range(9999)]",
    "(" * 500 + "1" + ")" * 500,
    "-" * 5000 + "1",
    "(yield)",
    "(a := 1)",
    "eval('1')",
    "b'a'",
]


@pytest.mark.parametrize("expression", HOSTILE, ids=lambda text: text[:30])
def test_an_expression_can_neither_run_code_nor_grow_without_bound(
    tmp_path, expression, monkeypatch
):
    monkeypatch.setattr("kinetree.files.description.xacro.expressions.MOST_STEPS", 20_000)
    inside = expression.replace("<", "&lt;")
    path = robot(tmp_path, f'<link name="${{{inside}}}"/>')
    with pytest.raises(ParseError):
        read_urdf(path)


def test_yaml_cannot_make_objects_or_grow_without_bound(tmp_path):
    path = robot(tmp_path, "<link name=\"${xacro.load_yaml('a.yaml')}\"/>")
    laughs = "\n".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for text in ("!!python/object/apply:os.getcwd []", f"a: &a x\n{laughs}", "a: &a [*a]", "a: ["):
        write(tmp_path / "a.yaml", text)
        with pytest.raises(ParseError):
            read_urdf(path)


def test_expansion_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("kinetree.files.description.xacro.MOST_ELEMENTS", 5000)
    doubling = "".join(
        f'<xacro:macro name="m{i + 1}"><xacro:m{i}/><xacro:m{i}/></xacro:macro>' for i in range(40)
    )
    for nothing in ("<x/>", ""):
        inside = f'<xacro:macro name="m0">{nothing}</xacro:macro>{doubling}<xacro:m40/>'
        assert "more than 5000 elements" in refused(robot(tmp_path, inside))


def test_the_expanded_text_is_a_urdf_of_the_same_robot(arm, tmp_path):
    root = expand_xacro(arm, [tmp_path]).root
    path = write(tmp_path / "arm.urdf", xml_text(root))
    assert height(path) == 1.0


def test_expansion_leaves_nothing_behind(arm, tmp_path, monkeypatch):
    before = dict(os.environ), os.getcwd()
    yaml = pytest.importorskip("yaml", reason="PyYAML, the extra kinetree[xacro], is not installed")
    constructors = dict(yaml.SafeLoader.yaml_constructors)
    write(tmp_path / "robot" / "c.yaml", "x: !degrees 1\n")
    write(
        arm,
        ARM.replace(
            "<link", "<xacro:property name='c' value=\"${xacro.load_yaml('c.yaml')}\"/><link", 1
        ),
    )
    height(arm, folders=[tmp_path])
    assert (dict(os.environ), os.getcwd()) == before
    assert yaml.SafeLoader.yaml_constructors == constructors
