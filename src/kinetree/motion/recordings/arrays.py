"""Tables that are stored as arrays: NPZ and Parquet, with the same names of columns as text.

An array with two axes, and a Parquet column of lists, is a numbered set of columns: `q` of shape
(T, n) reads as q[0] to q[n-1].
"""

import io
import json
import math
import re
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.tables import listing
from kinetree.core.units import Unit, nested_attributes, unit_of, unit_subject
from kinetree.errors import ParseError, need
from kinetree.motion.recordings import MAX_NAMES, ReadRequest, Table
from kinetree.motion.recordings.by_hand import matching
from kinetree.motion.recordings.clocks import (
    FAR,
    PER_SECOND,
    STAMP,
    Clock,
    check_first,
    seconds_note,
)
from kinetree.motion.recordings.comments import check_comments, mention_note
from kinetree.motion.recordings.header import named_layout
from kinetree.motion.recordings.names import NAME, meanings
from kinetree.motion.recordings.sizes import check_columns, check_names, check_numbers, shown

MOST_TEXT = 64 << 20  # bytes of columns that name joints, with those that are not read
COARSE = 1e-6  # resolution of times, in periods, from which accelerations by differences suffer
COMMENT_KEY = re.compile(r"(?i)(comment|description|note|remark)s?")
NPY_HEADER = 1 << 16  # bytes of an array's header, with its magic
# what the readers of ZIP and of arrays raise for damaged files
DAMAGED = (
    ValueError, zipfile.BadZipFile, zlib.error, EOFError, AttributeError, OSError, RuntimeError,
    SyntaxError, TypeError, tokenize.TokenError,
)  # fmt: skip


def read_parquet(path: Path, request: ReadRequest) -> Table:
    """The table of a Parquet file; needs the extra `parquet`."""
    parquet = need("pyarrow.parquet", "parquet", "a Parquet file")
    import pyarrow

    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            check_names(schema.names, path.name)
            repeated, times = Counter(schema.names).most_common(1)[0] if schema.names else ("", 0)
            if times > 1:
                raise ParseError(f"{path.name}: two columns are called {repeated!r}.")
            used = _used_columns(schema, request)
            _check_parquet(file, path.name, used)
        # a text that repeats takes its memory once
        texts = [name for name, is_text in used.items() if is_text]
        table = parquet.read_table(path, columns=list(used), read_dictionary=texts)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(f"{path.name} is not a Parquet file: {_line(error)}.") from None
    stated, comments = _attributes(schema, path.name)
    columns: dict[str, Array] = {}
    units: dict[str, Unit] = {}
    for field in schema:
        name = str(field.name)
        if name not in used:  # its cells are not looked at, or refused where numbers are expected
            expanded = {name: np.broadcast_to(np.array(f"<{field.type}>", object), rows)}
        else:
            expanded = _expanded(name, _from_arrow(table.column(0), name, path.name), path.name)
            table = table.remove_column(0)  # frees its memory if the array is a copy
        columns |= expanded
        units |= {x: stated[name] for x in expanded if name in stated}
    return table_of(columns, request, path.name, units, comments)


def _used_columns(schema: Any, request: ReadRequest) -> dict[str, bool]:
    """Columns of a Parquet file to read, and whether they are texts: only names of joints are."""
    names = list(map(str, schema.names))
    out = {k for x, target in request.columns.items() if not target for k in matching(names, x)}
    found: dict[str, bool] = {}
    for k, field in enumerate(schema):
        is_text = _is_text(field.type)
        if k not in out and (not is_text or any(x.kind == NAME for x in meanings(names[k], ()))):
            found[names[k]] = is_text
    return found


def _is_text(kind: Any) -> bool:
    """Whether a column of Parquet, or the items of its lists, are texts or bytes."""
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    return any(x in str(kind) for x in ("string", "binary"))


def _check_parquet(file: Any, name: str, used: Mapping[str, bool]) -> None:
    """Refuse more numbers than the limit before any is read; repeated ones take few bytes there."""
    metadata, count, text_bytes = file.metadata, 0, 0
    check_columns(metadata.num_columns, name)
    check_numbers(8 * metadata.num_rows, name)
    numbers = [x for x, is_text in used.items() if not is_text]
    places = _leaves(file.schema, metadata.num_columns, set(numbers))
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        if group.num_rows:
            # raises for damaged metadata of a column, for which column(j) would end the process
            next(file.iter_batches(1, row_groups=[k], columns=numbers), None)
            own = [group.column(j) for j in places]
            count += sum(x.num_values for x in own)
            check_numbers(8 * count, name)
            text_bytes += group.total_byte_size - sum(x.total_uncompressed_size for x in own)
    if len(numbers) < len(used) and text_bytes > MOST_TEXT:
        raise ParseError(
            f"{name}: columns of texts have {shown(text_bytes)}; at most {shown(MOST_TEXT)} are "
            "read. Leave them out of the file."
        )


def _leaves(schema: Any, count: int, names: set[str]) -> list[int]:
    """Places of the columns of numbers in a Parquet file, such as q.list.element of q."""
    return [
        j
        for j in range(count)
        if not names.isdisjoint(accumulate(schema.column(j).path.split("."), "{}.{}".format))
    ]


def _attributes(schema: Any, where: str) -> tuple[dict[str, Unit], list[str]]:
    """Units of columns in the metadata of a Parquet file, and its comments."""
    found: dict[str, Unit | None] = {}  # None: in SI units, whatever they are
    comments: list[str] = []
    for field in schema:
        attributes = _decoded(field.metadata)
        if field.type.num_fields == 1:  # of a list
            attributes[""] = _decoded(field.type.field(0).metadata)
        comments += _comments(attributes)
        for _, key, text in nested_attributes(attributes):
            if unit_subject(key) is not None and text is not None:
                _state(found, str(field.name), str(text), where)
    # `attrs` of pandas and attributes of others may be nested; types of pandas are none
    table = {key: x for key, x in _decoded(schema.metadata).items() if key != "pandas"}
    comments = list(dict.fromkeys(comments + _comments(table)))
    return _stated(found, table, schema.names, where), comments


def _decoded(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Metadata of Parquet as texts, or what they are as JSON."""
    return {
        key.decode("utf-8", "replace"): _json(value.decode("utf-8", "replace"))
        for key, value in (metadata or {}).items()
    }


def _stated(
    stated: dict[str, Unit | None],
    attributes: Mapping[str, Any],
    columns: Collection[str],
    where: str,
) -> dict[str, Unit]:
    """Add the units of attributes to those that were found; refuse what belongs to no column.

    A key states the unit of a column, `q1_units`, or is `units` with a dict of columns, or stands
    among the attributes of a column.
    """
    for owner, key, value in nested_attributes(attributes):
        subject = unit_subject(key)
        if subject is None or value is None:
            continue
        value = _json(value) if isinstance(value, str) else value
        texts = {subject or owner: value}
        texts = cast("dict[str, Any]", value) if isinstance(value, dict) else texts
        for column, text in texts.items():
            if column in columns:
                _state(stated, column, str(text), where)
            elif (unit := _attribute(column or key, str(text), where)) and not unit.si:
                raise ParseError(
                    f"{where}: its attribute {key!r} states {unit}, and names no column of the "
                    "file. State the unit in the names of the columns, and remove the attribute."
                )
    return {column: unit for column, unit in stated.items() if unit is not None}


def _comments(attributes: Mapping[str, Any]) -> list[str]:
    """Free texts in attributes, which are read as comments are."""
    return [str(x) for _, key, x in nested_attributes(attributes) if COMMENT_KEY.fullmatch(key)]


def _state(stated: dict[str, Unit | None], column: str, text: str, where: str) -> None:
    """Add the unit of a column to those that are stated; refuse two that contradict."""
    if not text.strip():
        return
    unit = _attribute(column, text, where)
    other = stated.get(column, unit)
    agree = unit.same(other) if unit and other else all(x.si for x in (unit, other) if x)
    if not agree:
        raise ParseError(
            f"{where}: its attributes state {column!r} in {other or 'SI units'} and in "
            f"{unit or 'SI units'}; expected one unit."
        )
    stated[column] = unit or other


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _attribute(column: str, text: str, where: str) -> Unit | None:
    """The unit of a column by an attribute, None for SI units of any kind ("rad or m")."""
    units = [unit_of(x) for x in text.split(" or ")]
    if not text.strip() or text.strip().upper() == "SI":
        return None
    if len(units) == 1 and units[0] is not None:
        return units[0]
    if not all(x is not None and x.si for x in units):
        raise ParseError(
            f"{where}: an attribute states {column!r} in {text[:40]!r}, a unit that is not read; "
            "expected one such as rad, deg/s or N m."
        )
    return None


def load_npz(path: Path) -> dict[str, Array]:
    """The arrays of an NPZ file; nothing is unpickled, and sizes are checked before."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_npz(archive, path.name)
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except ParseError:
        raise
    except DAMAGED as error:
        raise ParseError(f"{path.name} is not an NPZ file of arrays: {_line(error)}.") from None


def _check_npz(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse arrays that are larger than the limit or than their files, by their headers."""
    members = archive.infolist()
    check_columns(len(members), name)
    names = Counter(x.filename.removesuffix(".npy") for x in members)
    if len(names) < len(members):
        raise ParseError(f"{name}: two arrays are called {names.most_common(1)[0][0]!r}.")
    total = 0
    for member in members:
        with archive.open(member) as stream:
            start = io.BytesIO(stream.read(NPY_HEADER))
        version = np.lib.format.read_magic(start)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in readers:
            raise ValueError(f"{member.filename} is of version {version}")
        shape, _, kind = readers[version](start)
        if any(x < 0 for x in shape):
            raise ValueError(f"{member.filename} has shape {shape}")
        count = math.prod(shape)
        total += count * max(kind.itemsize, 8)  # all become 64-bit numbers
        check_numbers(total, f"{name}: {member.filename} of shape {shape}, with those before it,")
        if not kind.hasobject and count * kind.itemsize > member.file_size:
            raise ValueError(
                f"{member.filename} states shape {shape} and has {member.file_size} bytes"
            )


def unit_arrays(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Texts of an NPZ file that state units, such as `q_units`."""
    return {name: x for name, x in _scalars(arrays).items() if unit_subject(name) is not None}


def _scalars(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Texts of an NPZ file that are not columns, or what they are as JSON, by their names."""
    texts = {
        name: (x if x.dtype.kind == "U" else np.char.decode(x, "utf-8", "replace")).tolist()
        for name, x in arrays.items()
        if x.dtype.kind in "US" and (x.ndim == 0 or unit_subject(name) is not None)
    }
    return {name: _json(x) if isinstance(x, str) else x for name, x in texts.items()}


def table_of_npz(arrays: Mapping[str, Array], request: ReadRequest, where: str) -> Table:
    """The table of the arrays of an NPZ file that other programs wrote."""
    texts = _scalars(arrays)
    tables = {name: x for name, x in arrays.items() if x.ndim > 0 and name not in texts}
    stated = _stated({}, texts, tables, where)
    columns: dict[str, Array] = {}
    units: dict[str, Unit] = {}
    for name, x in tables.items():
        expanded = _expanded(name, x, where)
        columns |= expanded
        units |= {x: stated[name] for x in expanded if name in stated}
    comments = [
        x for _, key, x in nested_attributes(texts) if isinstance(x, str) and not unit_subject(key)
    ]
    table = table_of(columns, request, where, units, comments)
    single = [x for x in arrays if x not in tables and unit_subject(x) is None]
    if not single:
        return table
    note = f"{listing(single, MAX_NAMES)}, which have no axis, are not used"
    return replace(table, notes=(*table.notes, note))


def table_of(
    columns: Mapping[str, Array],
    request: ReadRequest,
    where: str,
    units: Mapping[str, Unit],
    comments: Sequence[str] = (),
) -> Table:
    """The table of named columns, (T,) each, numbers or texts, with units stated beside them."""
    if not columns:
        raise ParseError(f"{where} has no columns; expected t, q:JOINT and others.")
    lengths = {len(x) for x in columns.values()}
    if len(lengths) > 1:
        texts = [f"{name} has {len(x)}" for name, x in columns.items()]
        raise ParseError(f"{where}: columns differ in length: {', '.join(texts[:MAX_NAMES])}.")
    count = lengths.pop()
    if not count:
        raise ParseError(f"{where} has columns {listing(columns, MAX_NAMES)} and no rows.")
    heads = list(columns)
    arrays = list(columns.values())
    first = [str(x[0]) for x in arrays]
    layout = named_layout(heads, request, where, first, [units.get(x) for x in heads])
    placed = [(where, x) for x in comments]
    check_comments(request, layout, placed)
    notes = [*layout.notes, *mention_note(request, layout, placed)]
    for k in layout.labels:
        _check_label(arrays[k], heads[k], where)
    values: dict[str, Array] = {}
    if layout.clock is not None:
        values["t"] = _times(layout.clock, heads, arrays, where, request, notes)
    for quantity, places in layout.columns.items():
        values[quantity] = np.empty((count, len(places)))
        for k, column, numerator, denominator in zip(
            range(len(places)), places, *layout.scales[quantity], strict=True
        ):
            x = _floats(arrays[column], heads[column], where)
            np.multiply(x, numerator, out=values[quantity][:, k])
            values[quantity][:, k] /= denominator
    return Table(
        values, layout.joints, lambda k: f"{where}, row {k + 1}", where, tuple(notes),
        layout.clock_name,
    )  # fmt: skip


def _times(
    clock: Clock,
    heads: Sequence[str],
    arrays: Sequence[Array],
    where: str,
    request: ReadRequest,
    notes: list[str],
) -> Array:
    """Times in s; stamps, nanoseconds and times far from zero are counted from the first."""
    x, head = arrays[clock.column], heads[clock.column]
    per_second, seconds = clock.per_second, clock.seconds
    if x.dtype.kind in "mM":  # time differences and stamps have their own unit
        unit = np.datetime_data(x.dtype)[0]
        if unit not in PER_SECOND:
            raise ParseError(f"{where}: {head!r} is in {unit}; expected s, ms, us or ns.")
        if np.isnat(x).any():
            raise ParseError(
                f"{where}, row {int(np.argmax(np.isnat(x))) + 1}: {head!r} is missing."
            )
        per_second, seconds = PER_SECOND[unit], 1
        whole = x.astype(f"{x.dtype.kind}8[{unit}]").astype(np.int64)  # of M8[10ms]
        if x.dtype.kind == "m" and abs(int(whole[0])) <= FAR * per_second:
            return x / np.timedelta64(1, "s")
        x = whole
    elif not clock.exact:
        t = _floats(x, head, where)
        first = float(t[0])
        check_first(clock, head, first, request, where)
        notes += [*seconds_note(clock, head), *_resolution_note(x, head)]
        if not clock.counts_from(first):
            return clock.in_seconds(t)
        if x.dtype.kind == "f":
            notes.append(f"times are counted from the first, {clock.in_seconds(t[:1])[0]:.9f} s")
            return clock.in_seconds(t - first)
    whole = _whole(x, head, where)
    fine = np.zeros_like(whole)
    if clock.nanoseconds is not None:
        fine = _whole(arrays[clock.nanoseconds], heads[clock.nanoseconds], where)
        outside = (fine < 0) | (fine >= 10**9)
        if outside.any():
            raise ParseError(f"{where}, row {int(np.argmax(outside)) + 1}: {STAMP}")
    start = f"{int(whole[0]) * seconds / per_second + int(fine[0]) / 1e9:.9f}"
    notes.append(f"times are counted from the first, {start} s")
    if clock.nanoseconds is None:
        return (whole - whole[0]) * seconds / per_second
    return ((whole - whole[0]) * 10**9 + (fine - fine[0])) / 1e9


def _resolution_note(x: Array, head: str) -> list[str]:
    """A note on times whose floats are too coarse for the distance of the samples."""
    if x.dtype.kind != "f" or len(x) < 2 or not np.any(x != np.rint(x)):
        return []
    resolution = float(np.spacing(np.abs(x).max()))
    period = abs(float(x[-1]) - float(x[0])) / (len(x) - 1)
    if resolution <= COARSE * period:
        return []
    return [
        f"times in {head!r} are {x.dtype} and resolve {resolution:.1g}, {resolution / period:.1g} "
        "of a sample: rates from differences are rough. Store whole numbers, or times from 0"
    ]


def _whole(x: Array, head: str, where: str) -> Array:
    """Whole numbers, exactly."""
    if x.dtype.kind in "iu":
        return x.astype(np.int64)
    numbers = _floats(x, head, where)
    if np.any(numbers != np.rint(numbers)) or np.abs(numbers).max(initial=0) > 2**53:
        raise ParseError(f"{where}: {head!r} has {numbers[0]!r}; expected whole numbers.")
    return numbers.astype(np.int64)


def _floats(x: Array, head: str, where: str) -> Array:
    if x.dtype.kind not in "fiu":
        raise ParseError(
            f"{where}, row 1: {head!r} is {x[:1].tolist()[0]!r:.40}; expected a number."
        )
    numbers = x.astype(np.float64, copy=False)
    finite = np.isfinite(numbers)
    if not finite.all():
        k = int(np.argmin(finite))
        raise ParseError(
            f"{where}, row {k + 1}: {head!r} is {numbers[k]}; expected a finite number."
        )
    return numbers


def _check_label(x: Array, head: str, where: str) -> None:
    texts = [str(y) for y in x]
    for k, text in enumerate(texts):
        if text != texts[0]:
            raise ParseError(
                f"{where}, row {k + 1}: {head!r} is {text[:40]!r} and was {texts[0][:40]!r} in the "
                "first row; expected the same joints in every row."
            )


def _expanded(name: str, x: Array, where: str) -> dict[str, Array]:
    """One column, or a numbered set of them for an array with two axes."""
    if x.ndim == 1:
        return {name: x}
    if x.ndim != 2:
        raise ParseError(f"{where}: {name!r} has shape {x.shape}; expected (T,) or (T, n).")
    check_columns(x.shape[1], f"{where}: {name!r}")
    return {f"{name}[{k}]": x[:, k] for k in range(x.shape[1])}


def _from_arrow(column: Any, name: str, where: str) -> Array:
    """A column of Parquet as an array; lists of one length become (T, n)."""
    import pyarrow

    compute = need("pyarrow.compute", "parquet", "a Parquet file")

    kind = column.type
    lists = pyarrow.types
    if lists.is_list(kind) or lists.is_large_list(kind) or lists.is_fixed_size_list(kind):
        if column.null_count:
            row = column.is_null().to_numpy().argmax() + 1
            raise ParseError(f"{where}, row {row}: {name!r} is missing; expected a list.")
        lengths = compute.unique(compute.list_value_length(column)).to_pylist()
        if len(lengths) > 1:
            raise ParseError(f"{where}: lists of {name!r} differ in length; expected one length.")
        flat = _from_arrow(compute.list_flatten(column), name, where)
        return flat.reshape(len(column), -1) if lengths and lengths[0] else flat[:0]
    if lists.is_nested(kind):
        raise ParseError(f"{where}: {name!r} is of type {kind}; expected numbers or lists of them.")
    if lists.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    return column.to_numpy()


def _line(error: Exception) -> str:
    """The first line of another package's message, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
