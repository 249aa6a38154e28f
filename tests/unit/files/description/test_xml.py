"""Texts and encodings of robot files: what is read, and the place of what is refused."""

import os
import warnings

import pytest

import kinetree as kt
from kinetree.errors import ParseError
from kinetree.files.description.source import decode, read_bytes
from kinetree.files.description.xml import parse_xml

TEXT = '<?xml version="1.0"?><a name="ü€"/>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
def test_a_byte_order_mark_or_the_first_bytes_decide_the_encoding(encoding):
    assert decode(TEXT.encode(encoding), "f") == TEXT


@pytest.mark.parametrize("encoding", ["ISO-8859-15", "windows-1252", "gb18030", "UTF-8"])
def test_the_declared_encoding_is_used(encoding):
    text = f"""<?xml version="1.0" encoding='{encoding}' ?><a name="€"/>"""
    assert decode(text.encode(encoding), "f") == text


UNREADABLE = {  # bytes that are no text, and what the message has
    b'<?xml version="1.0" encoding="zlib"?><a/>': r"f:1:1.*zlib.*utf-8",
    b'<?xml version="1.0" encoding="utf-7"?><a/>': r"f:1:1.*utf-7",
    b'<?xml version="1.0" encoding="utf-16"?><a/>': "utf-16",
    "<a>\n<b>é".encode("latin-1"): r"f:2:4: byte 0xe9 .*latin-1",
    "<a/>".encode("utf-16")[:-1]: "utf-16",
    b"\x7fELF\0\0\0": "binary",
}


@pytest.mark.parametrize("data", UNREADABLE)
def test_bytes_that_are_no_text_are_refused_with_their_place(data):
    with pytest.raises(ParseError, match=UNREADABLE[data]):
        decode(data, "f")


def test_large_files_folders_and_devices_are_refused_before_they_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(tmp_path / "a", limit=5) == b"12345"
    with pytest.raises(ParseError, match="4 bytes"):
        read_bytes(tmp_path / "a", limit=4)
    for path, word in ((tmp_path, "folder"), (os.devnull, "device")):
        with pytest.raises(ParseError, match=word):
            read_bytes(path)


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
    with pytest.raises(ParseError):
        kt.load(tmp_path / name)
    (tmp_path / name).write_text(text.format(f"<!-- kg --> 1{inside}"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # <x/> is not read
        assert kt.load(tmp_path / name).model.name == "a"


def test_what_may_stand_in_a_text():
    assert parse_xml("<a><![CDATA[1 < 2]]>&#65;&amp;</a>", "f").text == "1 < 2A&"
    assert parse_xml("<a>1 <!-- x -->2<?y z?> 3</a>", "f").value.split() == ["1", "2", "3"]
    root = parse_xml("<a><!-- a --\n--- b --->\n <b/></a>", "a.xml")
    assert root.all("b")[0].place == "a.xml:3:2"


NO_XML = {
    "": "empty", '{"a": 1}': "JSON", "robot:\n  name: x": "not XML", "<a>": "f.xml:1",
    "<a><b></a>": "mismatched", "<a x='1' x='2'/>": "duplicate attribute", "<a x=1/>": "f.xml:1",
    "<a>&nope;</a>": "&amp;", "<a x='a<b'/>": "&lt;", "<a/><b/>": "after document element",
    "<!-- only a comment -->": "no element", "<a>\0</a>": "f.xml:1", "<a>\ud800</a>": "surrogate",
    "<a>" * 100_000: "limit of 200",
}  # fmt: skip


@pytest.mark.parametrize("text", NO_XML, ids=range(len(NO_XML)))
def test_what_is_no_xml_is_refused_with_its_place(text):
    with pytest.raises(ParseError, match=NO_XML[text]) as caught:
        parse_xml(text, "f.xml")
    assert str(caught.value).startswith("f.xml:")
