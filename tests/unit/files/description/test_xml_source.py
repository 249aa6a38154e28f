import os

import pytest

from kinetree.errors import ParseError
from kinetree.files.description.source import decode, read_bytes

TEXT = '<?xml version="1.0"?><a name="ü€"/>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides(encoding):
    assert decode(TEXT.encode(encoding), "f") == TEXT


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_recognised_without_a_mark(encoding):
    assert decode(TEXT.encode(encoding), "f") == TEXT


@pytest.mark.parametrize("encoding", ["ISO-8859-15", "windows-1252", "gb18030", "UTF-8", "cp1252"])
def test_the_declared_encoding_is_used(encoding):
    text = f"""<?xml version="1.0" encoding='{encoding}' ?><a name="€"/>"""
    assert decode(text.encode(encoding), "f") == text


@pytest.mark.parametrize(
    "name", ["KLINGON-8", "zlib", "punycode", "utf-7", "rot13", "idna", "../x"]
)
def test_unknown_and_unsafe_encodings_are_refused(name):
    with pytest.raises(ParseError, match=r"f:1:1.*utf-8"):
        decode(f'<?xml version="1.0" encoding="{name}"?><a/>'.encode(), "f")


def test_a_declaration_that_contradicts_the_bytes_is_refused():
    with pytest.raises(ParseError, match="utf-16"):
        decode(b'<?xml version="1.0" encoding="utf-16"?><a/>', "f")


def test_a_wrong_byte_is_named_with_its_place():
    with pytest.raises(ParseError, match=r"f:2:4: byte 0xe9 .*latin-1"):
        decode("<a>\n<b>é".encode("latin-1"), "f")


def test_a_truncated_utf_16_file_is_refused():
    with pytest.raises(ParseError, match="utf-16"):
        decode("<a/>".encode("utf-16")[:-1], "f")


def test_binary_files_are_recognised():
    with pytest.raises(ParseError, match="binary"):
        decode(b"\x7fELF\0\0\0", "f")


def test_a_file_over_the_limit_is_refused(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bytes(path, limit=5) == b"12345"
    with pytest.raises(ParseError, match="4 bytes"):
        read_bytes(path, limit=4)


def test_folders_pipes_and_devices_are_refused_before_they_are_opened(tmp_path):
    with pytest.raises(ParseError, match="folder"):
        read_bytes(tmp_path)
    with pytest.raises(ParseError, match="device"):
        read_bytes(os.devnull)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ParseError, match="pipe"):
            read_bytes(tmp_path / "pipe")
