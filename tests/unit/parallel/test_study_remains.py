"""The complete lines that an interrupted study left are counted to the byte."""

import pytest

from kinetree.parallel import sinks


@pytest.mark.parametrize("block", [1, 3, 7, 64])
def test_whole_lines_are_counted_across_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(sinks, "BLOCK", block)
    text = b"t,q\n" + b"1.5,2\n" * 20 + b"0.25,-3"
    path = tmp_path / "study.csv"
    path.write_bytes(text)
    assert sinks._whole_lines(path) == (21, len(text) - len(b"0.25,-3"))
    path.write_bytes(b"no line ends")
    assert sinks._whole_lines(path) == (0, 0)
