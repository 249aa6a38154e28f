"""What a study that was broken off has left behind is counted to the byte."""

import pytest

from kinetree.errors import ParseError
from kinetree.parallel import sinks
from kinetree.parallel.reader import Reader


@pytest.mark.parametrize("block", [1, 3, 7, 64])
def test_whole_lines_are_counted_across_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(sinks, "BLOCK", block)
    text = b"t,q\n" + b"1.5,2\n" * 20 + b"0.25,-3"
    path = tmp_path / "study.csv"
    path.write_bytes(text)
    assert sinks._whole_lines(path) == (21, len(text) - len(b"0.25,-3"))
    path.write_bytes(b"no line ends")
    assert sinks._whole_lines(path) == (0, 0)


@pytest.mark.parametrize("values", [[1, -1], [True], [0.5], ["1"]])
def test_counts_in_settings_are_whole_numbers(values):
    with pytest.raises(ParseError, match="whole numbers, 0 or more"):
        reader({"axes": values}).numbers("axes")
    assert reader({"axes": [0, 3]}).numbers("axes") == (0, 3)


def reader(data):
    return Reader(data, "settings")
