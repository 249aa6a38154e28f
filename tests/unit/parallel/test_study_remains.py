"""The complete lines that an interrupted study left are counted to the byte."""

import pytest

from kinetree.parallel import sinks


@pytest.mark.parametrize("block", [1, 7, 64])
def test_whole_lines_are_counted_across_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(sinks, "BLOCK", block)
    sink = sinks.CsvSink(tmp_path / "x.csv", sinks.row_dtype(("q",)), 30, {}, resume=False)
    for text, rows, size in ((b"t,q\n" + b"1.5,2\n" * 20 + b"0.25,-3", 20, 124), (b"t", 0, 0)):
        sink.partial.write_bytes(text)
        assert sink.left() == (rows, size)
    sink.finish(complete=False)
