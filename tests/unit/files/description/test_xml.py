import warnings

import pytest

import kinetree as kt
from kinetree.errors import ParseError
from kinetree.files.description.xml import Bounds, parse_xml


def test_cdata_and_character_references_are_text():
    assert parse_xml("<a><![CDATA[1 < 2]]>&#65;&amp;</a>", "f").text == "1 < 2A&"


SDF = """<sdf version="1.9"><model name="a"><link name="b"><inertial><mass>{}</mass>
<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link></model></sdf>"""
URDF = """<robot name="a"><link name="b"/><link name="c"/><joint name="j" type="continuous">
<parent link="b"/><child link="c"/></joint><transmission name="t"><joint name="j"/><actuator
name="m"><rotor_inertia>{}</rotor_inertia></actuator></transmission></robot>"""
XACRO = URDF.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')


@pytest.mark.parametrize("inside", ["<!-- x -->", "<?x y?>", "<x/>"])
@pytest.mark.parametrize(("name", "text"), [("a.sdf", SDF), ("a.urdf", URDF), ("a.xacro", XACRO)])
def test_a_number_that_something_interrupts_is_refused(tmp_path, name, text, inside):
    (tmp_path / name).write_text(text.format(f"1{inside}2"))
    with pytest.raises(ParseError, match="'12', is interrupted by"):
        kt.load(tmp_path / name)
    (tmp_path / name).write_text(text.format(f"<!-- kg --> 1{inside}"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # <x/> is not read
        assert kt.load(tmp_path / name).model.name == "a"


def test_comments_between_words_of_a_text_are_allowed():
    assert parse_xml("<a>1 <!-- x -->2<?y z?> 3</a>", "f").value == "1 2 3"


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE a>",
        '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a [<!ENTITY e "x"><!ENTITY f "&e;&e;">]>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
    ],
)
def test_document_types_are_refused(doctype):
    with pytest.raises(ParseError, match="DOCTYPE"):
        parse_xml(f"{doctype}<a>&e;</a>", "f")


def test_a_comment_may_hold_two_dashes_and_places_stay():
    root = parse_xml("<a><!-- a --\n--- b --->\n <b/></a>", "a.xml")
    assert root.all("b")[0].place == "a.xml:3:2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ('{"a": 1}', "JSON"),
        ("robot:\n  name: x", "not XML"),
        ("<a>", "line 1"),
        ("<a><b></a>", "mismatched"),
        ("<a x='1' x='2'/>", "duplicate attribute"),
        ("<a x=1/>", "line 1"),
        ("<a>&nope;</a>", "&amp;"),
        ("<a x='a&b'/>", "&amp;"),
        ("<a x='a<b'/>", "&lt;"),
        ("<a/><b/>", "after document element"),
        ("<!-- only a comment -->", "no element"),
        ("<?xml version='1.0'?>", "no element"),
        ("<a>\0</a>", "line 1"),
        ("<a>&#0;</a>", "line 1"),
        ("<a>\ud800</a>", "surrogate"),
    ],
)
def test_what_is_no_xml_is_refused_with_its_place(text, words):
    with pytest.raises(ParseError, match=words) as caught:
        parse_xml(text, "f.xml")
    assert str(caught.value).startswith("f.xml:")


@pytest.mark.parametrize(
    ("text", "bounds", "limit"),
    [
        ("<a/>", Bounds(size=3), "limit is 3"),
        ("<a><a><a/></a></a>", Bounds(depth=2), "limit of 2 elements nested"),
        ("<a><b/><b/></a>", Bounds(elements=2), "limit of 2 elements in one file"),
        ("<a x='' y='' z=''/>", Bounds(attributes=2), "limit of 2 attributes"),
        ("<a x='12345'/>", Bounds(value=5), "limit of 5 characters in one attribute"),
        ("<a>123456</a>", Bounds(value=5), "limit of 5 characters of text"),
    ],
)
def test_each_bound_is_kept_and_named(text, bounds, limit):
    with pytest.raises(ParseError, match=limit):
        parse_xml(text, "f", bounds)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("<a/>", Bounds(size=4)),
        ("<a><a/></a>", Bounds(depth=2)),
        ("<a><b/></a>", Bounds(elements=2)),
        ("<a x='' y=''/>", Bounds(attributes=2)),
        ("<a x='1234'/>", Bounds(value=5)),
    ],
)
def test_what_just_fits_is_read(text, bounds):
    assert parse_xml(text, "f", bounds).tag == "a"


def test_deep_files_are_refused_and_not_recursed_into():
    with pytest.raises(ParseError, match="limit of 200"):
        parse_xml("<a>" * 100_000, "f")


def test_entities_cannot_grow():
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    with pytest.raises(ParseError, match="DOCTYPE"):
        parse_xml(f'<!DOCTYPE a [<!ENTITY l0 "lol">{laughs}]><a>&l9;</a>', "f")
