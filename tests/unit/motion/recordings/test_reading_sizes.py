"""Recordings that state or unpack to huge sizes are refused quickly, with little memory."""

import gzip
import io
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ParseError
from kinetree.motion import read

ROBOT = kt.robots.planar_2r()
SWITCH = "KINETREE_RECORDING_SIZE"
MOST_MEMORY = 150 << 20  # bytes while a hostile file is refused


def refused(path, says, **options):
    """The message of a file that is refused with little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ParseError, match=says) as told:
            read(path, ROBOT, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_MEMORY
    text = str(told.value)
    assert path.name in text and "\n" not in text and len(text) < 600
    return text


def npy_header(shape, kind="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


def zip_of(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def zip_of_zeros(path, header, count):
    """A deflated array of zeros, `count` blocks of 1 MiB, made of copies of one block."""
    block = 1 << 20
    maker = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = maker.compress(header) + maker.flush(zlib.Z_FULL_FLUSH)
    zeros = maker.compress(bytes(block)) + maker.flush(zlib.Z_FULL_FLUSH)
    data = first + zeros * count + maker.flush(zlib.Z_FINISH)
    size, name = len(header) + count * block, b"q.npy"
    fixed = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 33, 0, len(data), 0xFFFFFFFF, len(name), 20)
    extra = struct.pack("<HHQQ", 1, 16, size, len(data))
    local = b"PK\3\4" + fixed + name + extra
    central = b"PK\1\2" + struct.pack("<H", 45) + fixed[:-2] + struct.pack("<H", 20)
    central += bytes(10) + struct.pack("<I", 0) + name + extra
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(data), 0)
    path.write_bytes(local + data + central + end)
    return path


@pytest.mark.parametrize("shape", [(10**11, 2), (10**11,), (10**18, 10**18)])
def test_a_header_that_states_more_rows_than_memory_is_refused(shape, tmp_path, monkeypatch):
    path = zip_of(tmp_path / "a.npz", {"q.npy": npy_header(shape), "t.npy": npy_header((3,))})
    text = refused(path, r"q.npy of shape .* GiB of numbers; at most 2.0 GiB are read")
    assert f"set {SWITCH}=" in text
    monkeypatch.setenv(SWITCH, "900000000T")
    if shape == (10**11, 2):
        refused(path, r"q.npy states shape \(100000000000, 2\) and has \d+ bytes")


def test_an_archive_that_unpacks_to_gigabytes_is_refused(tmp_path):
    rows = 300 << 20
    path = zip_of_zeros(tmp_path / "a.npz", npy_header((rows, 2)), 2 * rows * 8 >> 20)
    assert path.stat().st_size < 6 << 20
    refused(path, r"4.7 GiB of numbers; at most 2.0 GiB are read")


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (npy_header((0, 10**15)), "1,000,000,000,000,000 columns; at most 16,384 are read"),
        (npy_header((10**12,), "<U0"), "GiB of numbers"),
        (npy_header((10**12,), "|V0"), "GiB of numbers"),
        (npy_header((-3,)), r"not an NPZ file of arrays: q.npy has shape \(-3,\)"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1), "not an NPZ file of arrays"),
        (b"\x93NUMPY\x09\x00" + bytes(100), r"not an NPZ file of arrays: q.npy is of version \(9"),
        (b"no array", "not an NPZ file of arrays"),
        (npy_header((2,), "|O") + b"cos\nsystem\n(S'false'\ntR.", "Object arrays cannot be loaded"),
    ],
)
def test_odd_headers_of_arrays_are_refused(header, says, tmp_path):
    refused(zip_of(tmp_path / "a.npz", {"q.npy": header}), says)


def test_a_damaged_archive_is_refused_in_words(tmp_path):
    np.savez_compressed(tmp_path / "good.npz", t=np.arange(5000.0), q=np.ones((5000, 2)))
    data = bytearray((tmp_path / "good.npz").read_bytes())
    for at in range(40, len(data) - 200, 97):
        damaged = data.copy()
        damaged[at] ^= 0x5A
        (tmp_path / "a.npz").write_bytes(damaged)
        try:
            read(tmp_path / "a.npz", ROBOT)
        except InputError as error:
            assert "a.npz" in str(error)


ROW = b"0,1,2\n"
HEAD = b"t,q1,q2\n"
UNPACKED = "unpacks to more than .* at most 100 times its size"
LINES = {  # pieces of a text that are compressed one by one, and the message
    "long comments": ([HEAD, ROW, *([b"#" + b"x" * 2**20 + b"\n"] * 30)], UNPACKED),
    "one endless line": ([b"1" * 2**20] * 6, "line 1 is longer than 4 MiB"),
    "an endless line below": ([HEAD, *([b"1" * 2**20] * 6)], "line 2 is longer than 4"),
    "5 million rows": ([HEAD, *([ROW * 10**6] * 5)], UNPACKED),
    "30 million blank lines": ([b"\n" * 10**6] * 30, UNPACKED),
}


@pytest.mark.parametrize("case", LINES)
def test_compressed_texts_are_refused_before_they_are_unpacked(case, tmp_path):
    parts, says = LINES[case]
    known = {}
    with (tmp_path / "a.csv.gz").open("wb") as file:
        for part in parts:  # gzip allows one stream after another
            if part not in known:
                known[part] = gzip.compress(part, 9)
            file.write(known[part])
    refused(tmp_path / "a.csv.gz", says)


def test_a_damaged_gzip_is_refused_in_words(tmp_path):
    data = gzip.compress(b"t,q1,q2\n" + b"".join(b"%d,1,2\n" % k for k in range(10_000)))
    for damaged in (data[:-100], data[:200] + b"\0\0\0" + data[203:], b"t,q1,q2\n" + ROW):
        (tmp_path / "a.csv.gz").write_bytes(damaged)
        refused(tmp_path / "a.csv.gz", "cannot be unpacked")


@pytest.mark.parametrize("names", [b",", b"a,", b"t,q1,q2,"])
def test_a_line_of_very_many_columns_is_refused(names, tmp_path):
    path = tmp_path / "a.csv.gz"
    for size, says in ((1 << 18, "columns; at most 16,384"), (8 << 20, "longer than 4 MiB")):
        path.write_bytes(gzip.compress(names * (size // len(names)) + b"\n", 1))
        refused(path, says)


@pytest.mark.parametrize("sign", ["a_", "deg_", "q1_", "[", " x", "1"])
def test_a_long_name_of_a_column_is_refused(sign, tmp_path):
    path = tmp_path / "a.csv"
    name = (sign * 10_000)[:10_000].replace("x", "x" * 9)
    path.write_text(f"t,q1,q2,{name}\n0,1,2,3\n1,1,2,3\n")
    assert "column 4" in refused(path, "Shorten it")


def test_long_comments_and_powers_of_units_take_little_time(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"#{' rad' * 10_000}\nt,q1,q2\n0,1,2\n1,1,2\n2,3,1\n")
    assert len(read(path, ROBOT).t) == 3
    path.write_text("t,q1 [rad ms^99999999],q2\n0,1,2\n")
    refused(path, "q1")


def test_a_number_with_a_huge_exponent_is_not_written_out(tmp_path):
    for cell in ("1e999999999", "nan", "-1e40", "1e-999999999"):
        (tmp_path / "a.csv").write_text(f"t [ns],q1,q2\n{cell},1,2\n10,1,2\n20,2,3\n")
        if cell.startswith("1e-"):
            try:
                read(tmp_path / "a.csv", ROBOT)
            except ParseError as error:
                assert len(str(error)) < 600
        else:
            refused(tmp_path / "a.csv", "line 2: .* (is not a time in ns|expected a finite number)")


def test_a_text_larger_than_the_limit_is_refused_while_it_is_read(tmp_path, monkeypatch):
    rows = "".join(f"{k},1,2\n" for k in range(20_000))
    (tmp_path / "a.csv").write_text("t,q1,q2\n" + rows)
    assert len(read(tmp_path / "a.csv", ROBOT)) == 20_000
    monkeypatch.setenv(SWITCH, "100K")
    refused(tmp_path / "a.csv", "of numbers; at most 100.0 KiB are read")
    monkeypatch.setenv(SWITCH, "2M")
    assert len(read(tmp_path / "a.csv", ROBOT)) == 20_000


@pytest.mark.parametrize("text", ["banana", "-3", "0", "G", "1e400", "inf", "8 elephants"])
def test_a_limit_that_is_not_a_size_is_refused(text, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("t,q1,q2\n0,1,2\n1,2,3\n2,3,4\n")
    monkeypatch.setenv(SWITCH, text)
    with pytest.raises(InputError):
        read(tmp_path / "a.csv", ROBOT)


def test_parquet_is_refused_by_its_metadata(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    count = 200_000  # the same number in all rows takes a few bytes
    table = pyarrow.table({x: np.zeros(count) for x in ("t", "q1", "q2")})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 20_000
    monkeypatch.setenv(SWITCH, "4M")
    refused(tmp_path / "a.parquet", "4.6 MiB of numbers; at most 4.0 MiB are read")
    lists = pyarrow.table({"q": [[0.0] * 1000] * 1000})
    parquet.write_table(lists, tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "7.6 MiB of numbers")
    monkeypatch.delenv(SWITCH)
    wide = pyarrow.table({f"q{k}": [0.0] for k in range(17_000)})
    parquet.write_table(wide, tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "17,000 columns; at most 16,384")


def test_a_parquet_file_takes_memory_of_few_copies(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    count = 300_000
    zeros = np.zeros(count)
    path = tmp_path / "a.parquet"
    columns = {"t": np.arange(count) / 1000}
    columns |= {f"{x}{k}": zeros for x in ("q", "dq", "ddq") for k in (1, 2)}
    pq.write_table(pa.table(columns), path, row_group_size=30_000)
    read(path, ROBOT)  # imports
    tracemalloc.start()
    try:
        motion = read(path, ROBOT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert motion.q.shape == (count, 2)
    assert peak < 3 * 8 * 7 * count + (8 << 20)


def test_damaged_metadata_of_a_parquet_column_does_not_end_the_process(tmp_path):
    """The bit that pyarrow answers with abort() where the column's metadata are asked for."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    x = np.arange(5.0)
    pq.write_table(pa.table({"t": x, "q1": x, "q2": x}), tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    path = tmp_path / "a.parquet"
    field = b"%\x02\x18\x02q1"  # of the schema: the column may have nulls
    assert whole.count(field) == 1
    path.write_bytes(whole.replace(field, b'%"\x18\x02q1'))
    code = f"""
import kinetree as kt
try:
    kt.motion.read({str(path)!r}, kt.robots.planar_2r())
except kt.errors.ParseError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.returncode == 0 and "a.parquet is not a Parquet file" in told.stdout, told


def test_a_long_text_that_repeats_takes_its_memory_once(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    count = 20_000
    indices = pyarrow.array(np.zeros(count, np.int32))
    remark = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["x" * 10**6]))
    t = np.arange(count) / 8
    table = pyarrow.table({"t": t, "q1": t, "q2": t, "remark": remark})
    parquet.write_table(table, tmp_path / "a.parquet")  # 20 GB of text
    assert len(read(tmp_path / "a.parquet", ROBOT, columns={"remark": None})) == count


def test_texts_of_parquet_are_not_read(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    t, texts = np.arange(4) / 8, ["x" * (65 << 20), "a", "a", "a"]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": t, "q1": t, "q2": t, "label": texts}), path)
    column = pq.read_metadata(path).row_group(0).column(3)
    with path.open("r+b") as file:  # who reads the column finds it damaged
        file.seek(column.dictionary_page_offset)
        file.write(bytes(column.total_compressed_size))
    assert len(read(path, ROBOT, columns={"label": None})) == 4
    assert "not used: 'label'" in read(path, ROBOT).meta["notes"]
    pq.write_table(pa.table({"t": t, "q1": texts, "q2": t}), path)
    refused(path, "'q1' is '<string>'; expected a number")
    pq.write_table(pa.table({"t": t, "q1": t > 0, "q2": t}), path)
    refused(path, "'q1' is False; expected a number")
