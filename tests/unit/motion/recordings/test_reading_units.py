"""A unit is read and converted, or refused, wherever it stands; never taken as SI in silence."""

import json

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ParseError
from kinetree.motion import read
from motion_robots import with_joint_names

ROBOT = kt.robots.planar_2r()
SLIDING = kt.robots.scara()
RNG = np.random.default_rng(3)
T = np.arange(5) / 8
TRUE = {x: RNG.normal(size=(5, 2)) for x in ("q", "dq", "ddq", "tau")}
# unit as it is written, and how many of it are one SI unit
UNITS = {
    "q": {"mrad": 1e3, "deg": 180 / np.pi, "turns": 0.5 / np.pi, "rev": 0.5 / np.pi},
    "dq": {"rpm": 30 / np.pi, "dps": 180 / np.pi, "deg_s": 180 / np.pi, "mrad_s": 1e3},
    "tau": {"mNm": 1e3, "Ncm": 100, "kNm": 1e-3, "Nmm": 1e3},
}
CASES = [(x, unit, factor) for x, own in UNITS.items() for unit, factor in own.items()]
NAMES = {
    "suffix": "{0}{1}_{2}",
    "word": "{0}{1} {2}",
    "joined": "{0}{1}{2}",
    "bracket": "{0}{1} [{2}]",
    "parentheses": "{0}{1} ({2})",
    "before the number": "{0}_{2}_{1}",
    "before the index": "{0}_{2}[{1}]",
    "with the joint": "joint{1}_{0}_{2}",
}


def text_of(heads, columns, above=(), mark=","):
    rows = [mark.join(repr(float(x)) for x in row) for row in np.stack(columns, axis=1)]
    return "\n".join([*above, mark.join(heads), *rows]) + "\n"


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def columns_of(quantity, factor):
    """Positions in rad, and one quantity in another unit."""
    x = TRUE[quantity] * factor
    return [T, *x.T] if quantity == "q" else [T, *TRUE["q"].T, *x.T]


def heads_of(quantity, pattern, unit):
    own = [pattern.format(quantity, k, unit) for k in (1, 2)]
    positions = "q{} [rad]" if quantity in ("dq", "ddq") else "q{}"  # rates in rpm need both units
    return ["t", *own] if quantity == "q" else ["t", positions.format(1), positions.format(2), *own]


def same(found, quantity):
    np.testing.assert_allclose(getattr(found, quantity), TRUE[quantity], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found.q, TRUE["q"], rtol=1e-14, atol=1e-15)
    assert f"{quantity} in " in "; ".join(found.meta["notes"])


@pytest.mark.parametrize("place", NAMES)
@pytest.mark.parametrize(("quantity", "unit", "factor"), CASES, ids=[x[1] for x in CASES])
def test_units_in_names_are_converted(quantity, unit, factor, place, tmp_path):
    heads = heads_of(quantity, NAMES[place], unit)
    path = written(tmp_path, text_of(heads, columns_of(quantity, factor)))
    same(read(path, ROBOT), quantity)


@pytest.mark.parametrize("place", NAMES)
@pytest.mark.parametrize(("quantity", "unit", "factor"), CASES, ids=[x[1] for x in CASES])
def test_columns_by_hand_change_no_unit(quantity, unit, factor, place, tmp_path):
    heads = heads_of(quantity, NAMES[place].replace("{0}", "enc"), unit)
    path = written(tmp_path, text_of(heads, columns_of(quantity, factor)))
    targets = [f"{quantity}:joint1", f"{quantity}:joint2"]
    same(read(path, ROBOT, columns=dict(zip(heads[-2:], targets, strict=True))), quantity)


@pytest.mark.parametrize(("quantity", "unit", "factor"), CASES, ids=[x[1] for x in CASES])
def test_units_of_mappings_lines_and_comments_are_applied(quantity, unit, factor, tmp_path):
    own = [f"{quantity}{k}" for k in (1, 2)]
    rad = quantity == "dq"
    first = [] if quantity == "q" else ["q1 [rad]", "q2 [rad]"] if rad else ["q1", "q2"]
    heads, columns = ["t", *first, *own], columns_of(quantity, factor)
    units = ["s", *(["rad", "rad"] if first else []), unit, unit]
    plain = text_of(heads, columns)
    mapping = {f"{quantity}{k}": f"{quantity}:joint{k} [{unit}]" for k in (1, 2)}
    same(read(written(tmp_path, plain), ROBOT, columns=mapping), quantity)
    header, rows = plain.split("\n", 1)
    for text in (
        f"# units: {', '.join(units)}\n{plain}",
        f"{header}\n# Units = {'; '.join(f'[{x}]' for x in units)}\n{rows}",
        f"# {','.join(units)}\n{plain}",
        f"{header}\n{','.join(units)}\n{rows}",
        f"#{','.join(units)}\n# {header}\n{rows}",
        f"# {header}\n# units: {' '.join(units)}\n{rows}",
    ):
        same(read(written(tmp_path, text), ROBOT), quantity)


def test_units_in_attributes_of_files_are_applied(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"t": T, "q1": 1e3 * TRUE["q"][:, 0], "q2": 1e3 * TRUE["q"][:, 1]}
    arrays = [pyarrow.array(x) for x in columns.values()]
    fields = [
        pyarrow.field(x, pyarrow.float64(), metadata={} if x == "t" else {"units": "mrad"})
        for x in columns
    ]
    plain = pyarrow.table(arrays, names=list(columns))
    whole = {"units": json.dumps({"q1": "mrad", "q2": "mrad"})}
    attrs = {"PANDAS_ATTRS": json.dumps({"units": {"t": "s", "q1": "mrad", "q2": "mrad"}})}
    tables = [pyarrow.table(arrays, schema=pyarrow.schema(fields))]
    each = {"q1.units": "mrad", "q2 uom": "mrad", "community": "no unit"}
    nested = ({"q1": own, "q2": own} for own in ({"unit": "mrad"}, {"meta": [], "UOM": "mrad"}))
    listed = {"columns": [{"name": x, "unit": "mrad"} for x in ("q1", "q2")]}
    deep = {"meta": {"a": [{"units": {"q1": "mrad", "q2": "mrad"}}]}}
    inside = [{"PANDAS_ATTRS": json.dumps(x)} for x in (*nested, listed, deep)]
    tables += [plain.replace_schema_metadata(x) for x in (whole, attrs, each, *inside)]
    for table in tables:
        parquet.write_table(table, tmp_path / "a.parquet")
        same(read(tmp_path / "a.parquet", ROBOT), "q")
    for stated, says in (
        ({"units": "deg"}, "'units' states deg, and names no column"),
        ({"PANDAS_ATTRS": json.dumps({"units": {"q": "deg"}})}, "'units' states deg, and names no"),
        (
            {"PANDAS_ATTRS": json.dumps({"angleUnit": "deg"})},
            "'angleUnit' states deg, and names no",
        ),
        ({"q_units": "deg"}, "'q_units' states deg, and names no column"),
        ({"time_unit": "ms"}, "'time_unit' states ms, and names no column"),
        ({"uom": "ticks"}, "'uom' states counts, and names no column"),
        ({"comment": "angles in degrees"}, "the comment 'angles in degrees' states deg"),
        ({"a": json.dumps({"robot": {"unit": "deg"}})}, "'unit' states deg, and names no column"),
        ({"a": json.dumps({"q1": {"note": "unit: deg"}})}, "the comment 'unit: deg' states deg"),
        ({"units": "[" * 100_000}, "a unit that is not read"),
        ({"units": json.dumps({"q1": "foo"})}, "'q1' in 'foo', a unit that is not read"),
    ):
        parquet.write_table(plain.replace_schema_metadata(stated), tmp_path / "a.parquet")
        with pytest.raises(ParseError, match=says):
            read(tmp_path / "a.parquet", ROBOT)


@pytest.mark.parametrize("key", ["unit", "uom", "unit_of_measure", "angle_unit", "MeasurementUnit"])
def test_units_of_a_field_are_read_under_every_key_of_units(key, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    fields = [pa.field("t", "float64")]
    fields += [pa.field(x, "float64", metadata={key: "mrad"}) for x in ("q1", "q2")]
    arrays = [pa.array(x) for x in (T, *1e3 * TRUE["q"].T)]
    pq.write_table(pa.table(arrays, schema=pa.schema(fields)), tmp_path / "a.parquet")
    same(read(tmp_path / "a.parquet", ROBOT), "q")


@pytest.mark.parametrize("key", ["comment", "description"])
def test_a_comment_on_a_field_is_read_as_comments_are(key, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    fields = [pa.field("t", "float64")]
    fields += [pa.field(x, "float64", metadata={key: "joint angle in deg"}) for x in ("q1", "q2")]
    pq.write_table(pa.table([T, *TRUE["q"].T], schema=pa.schema(fields)), tmp_path / "a.parquet")
    with pytest.raises(ParseError, match="the comment 'joint angle in deg' states deg"):
        read(tmp_path / "a.parquet", ROBOT)


@pytest.mark.parametrize(
    ("table", "fits"),
    [({"q1": "rad"}, False), ({"q1": "SI"}, False), ({"q1": "degrees"}, True), ({}, True)],
)
def test_units_of_a_field_and_of_its_table_must_agree(table, fits, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    fields = [pa.field("t", "float64")]
    fields += [pa.field(x, "float64", metadata={"units": "deg"}) for x in ("q1", "q2")]
    path = tmp_path / "a.parquet"
    for key, text in {"units": table, "PANDAS_ATTRS": {"Units": table}}.items():
        schema = pa.schema(fields, metadata={key: json.dumps(text)})
        pq.write_table(pa.table([T, *TRUE["q"].T], schema=schema), path)
        if fits:
            assert np.allclose(read(path, ROBOT).q, np.deg2rad(TRUE["q"]))
        else:
            with pytest.raises(ParseError, match=r"state 'q1' in deg and in .*; expected one unit"):
                read(path, ROBOT)


@pytest.mark.parametrize("item", [{}, {"unit": "mrad"}, {"unit": "rad"}])
@pytest.mark.parametrize("own", [{}, {"units": "mrad"}, {"attrs": '{"a": {"unit": "mrad"}}'}])
def test_units_of_lists_their_items_and_nested_attributes_are_read(own, item, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    kind = pa.list_(pa.field("item", "float64", metadata=item))
    schema = pa.schema([pa.field("t", "float64"), pa.field("q", kind, metadata=own)])
    factor = 1e3 if "mrad" in str((own, item)) else 1
    arrays = [T, list(factor * TRUE["q"])]
    pq.write_table(pa.table(arrays, schema=schema), tmp_path / "a.parquet")
    if own and item == {"unit": "rad"}:
        with pytest.raises(ParseError, match="expected one unit"):
            read(tmp_path / "a.parquet", ROBOT)
    else:
        assert np.allclose(read(tmp_path / "a.parquet", ROBOT).q, TRUE["q"], rtol=1e-14)


def test_units_beside_arrays_are_applied_or_refused(tmp_path):
    q = 1e3 * TRUE["q"]
    np.savez(tmp_path / "a.npz", t=T, q=q, q_units="mrad")
    same(read(tmp_path / "a.npz", ROBOT), "q")
    np.savez(tmp_path / "a.npz", t=T, q_mrad=q)
    same(read(tmp_path / "a.npz", ROBOT), "q")
    for beside in (
        {"units": "deg"}, {"unit": ["s", "deg"]}, {"dq_units": "deg"}, {"angle_unit": b"deg"},
        {"meta": '{"angle_unit": "deg"}'}, {"info": "angles in degrees"},
    ):  # fmt: skip
        np.savez(tmp_path / "a.npz", t=T, q=q, **beside)
        says = r"names no column of the fi|a unit that is not rea|the comment .* states deg"
        with pytest.raises(ParseError, match=says):
            read(tmp_path / "a.npz", ROBOT)
    np.savez(tmp_path / "a.npz", t=T, q=q, dof_names=ROBOT.joint_names, q_units="deg")
    with pytest.raises(ParseError, match="an NPZ file of kinetree, which is in SI units"):
        read(tmp_path / "a.npz", ROBOT)


ROWS = "\n0,1,2,3,4\n1,2,3,4,5\n2,3,4,5,6\n"
REFUSED = {
    "t,q1,q2,tau1_deg,tau2_deg": "tau of joint1 is stated in deg; expected N m or another",
    "t,q1,q2,tau1 [%],tau2 [%]": "tau of joint1 is stated in %",
    "t,q1,q2,tau1 [A],tau2 [A]": "tau of joint1 is stated in A",
    "t,q1,q2,tau1_mNm,tau2": "tau of joint1 is stated in mN m, and tau of joint2 has no unit",
    "t,q1 [mm],q2 [mm],tau1,tau2": "stated in mm; expected rad .*joint1 is an angle",
    "t,q1_mrad,q2_mrad,dq1,dq2": "q of joint1 is stated in mrad, and dq of joint1 has no unit",
    "t,q1_deg [rad],q2_deg [rad],tau1,tau2": "'q1_deg .rad.'.*belong to nothing",
    "t,q1,q2,tau1_MNm,tau2_MNm": "tau of joint1 is stated in MNm",
    "t,q1,q2,dq1_rps,dq2_rps": "dq of joint1 is stated in rps",
    "t,q1,q2,tau1_ozin,tau2_ozin": "tau of joint1 is stated in oz in",
    "t,q1,q2,tau1_xyz,tau2_xyz": r"State it by hand: columns={'tau1_xyz': 'tau:joint1'}",
    "t,q1_m,q2_m,tau1,tau2": r"If m is its unit, write it in brackets: \[m\]",
    "t [deg],q1,q2,tau1,tau2": "'t .deg.' is a time stated in deg; expected s, ms, us, ns, min",
    "# units: deg\nt,q1,q2,tau1,tau2": "line 1: '# units: deg' does not state a unit for every",
    "# units: s,foo,deg,-,-\nt,q1,q2,tau1,tau2": "does not state a unit for every column",
    "# angles in degrees\nt,q1,q2,tau1,tau2": "states deg, and q of joint1 has no unit",
    "# units: s,-,-,-,-\n# angles in degrees\nt,q1,q2,tau1,tau2": "states deg, and q of joint1",
    "# angles in degrees\n# t,q1,q2,tau1,tau2": "line 1: the comment .* states deg",
    "# torque in mNm\nt,q1,q2,tau1,tau2": "states mN m, and tau of joint1 has no unit",
    "t,q1 [-deg],q2 [-deg],tau1,tau2": "'q1 .-deg.'",
    "t,q1,q2,tau1 [-Nm],tau2 [-Nm]": "'tau1 .-Nm.'",
    "# time in ms\nt,q1,q2,tau1,tau2": r"states ms, and the time 't' has no unit.*'t': 't.ms.'",
    "# t [ms]\nt,q1,q2,tau1,tau2": "states ms, and the time 't' has no unit",
    "# stamps in microseconds\nt,q1,q2,tau1,tau2": "states us, and the time 't' has no unit",
    "# angles in turns\nt,q1,q2,tau1,tau2": "states rev, and q of joint1 has no unit",
    "# angles in revolutions\nt,q1,q2,tau1,tau2": "states rev, and q of joint1 has no unit",
    "# effort in A\nt,q1,q2,tau1,tau2": r"states A, and tau of joint1 .*tau:joint1 .N m.'",
    "# effort in kg cm\nt,q1,q2,tau1,tau2": "states kg cm, and tau of joint1 has no unit",
    "# torque in percent\nt,q1,q2,tau1,tau2": "states %, and tau of joint1 has no unit",
    "# time unit: ms\nt,q1,q2,tau1,tau2": "states ms, and the time 't'",
    "# t: ms\nt,q1,q2,tau1,tau2": "states ms",
    "# t = ms\nt,q1,q2,tau1,tau2": "states ms",
    "# clock: us\nt,q1,q2,tau1,tau2": "states us",
    "# tau: A\nt,q1,q2,tau1,tau2": "states A, and tau",
    "# tau unit: A\nt,q1,q2,tau1,tau2": "states A",
    "# effort = mA\nt,q1,q2,tau1,tau2": "states mA",
    "# torque: in-lb\nt,q1,q2,tau1,tau2": "states in lb",
    "# q: turns\nt,q1,q2,tau1,tau2": "states rev",
    "# position unit = counts\nt,q1,q2,tau1,tau2": "states counts",
    "# time in samples\nt,q1,q2,tau1,tau2": "states counts, and the time 't'",
    "# units: s,deg,deg,-,-\n# units: s,rad,rad,-,-\nt,q1,q2,tau1,tau2": "in rad by the comment",
    "# units: s,deg,deg,-,-\nt,q1,q2,tau1,tau2\n# units: s,rad,rad,-,-": "line 3 and in deg by a",
    "# s,deg,deg,-,-\n# units: s,rad,rad,-,-\nt,q1,q2,tau1,tau2": "column 2 is in rad",
    "t,q1_rad,q2_rad,tau1,tau2\ns,deg,deg,N m,N m": "in rad by its name and in deg by the units be",
    "# units: s,deg,deg,-,-\nt,q1,q2,tau1,tau2\ns,rad,rad,,": "in rad by the line of units and in",
}


@pytest.mark.parametrize("heads", REFUSED)
def test_doubtful_units_are_refused(heads, tmp_path):
    with pytest.raises(ParseError, match=REFUSED[heads]):
        read(written(tmp_path, heads + ROWS), ROBOT)


def test_a_comment_on_units_below_the_rows_is_refused(tmp_path):
    text = f"t,q1,q2{ROWS}".replace(",3,4", "").replace(",4,5", "").replace(",5,6", "")
    late = text.replace("\n1,", "\n# units: s, deg, deg\n1,")
    with pytest.raises(ParseError, match="line 3: a comment on units below the first row"):
        read(written(tmp_path, late), ROBOT)
    long = text.split("\n")[0] + "\n" + "".join(f"{k},1,2\n" for k in range(60_000))
    with pytest.raises(ParseError, match="line 60002: a comment on units below the first row"):
        read(written(tmp_path, long + "# units: s, deg, deg\n60000,1,2\n"), ROBOT)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_comment_that_states_a_unit_is_refused_below_the_rows(place, tmp_path):
    lines = ["t,q1,q2", "0,1,2", "1,1,2", "2,1,3"]
    lines.insert(1 + place, "# angles in degrees")
    with pytest.raises(ParseError, match=f"line {place + 2}: the comment .* states deg"):
        read(written(tmp_path, "\n".join(lines)), ROBOT)


@pytest.mark.parametrize("unit", ["rpm", "Hz"])
def test_a_rate_that_is_not_in_radians_is_refused(unit, tmp_path):
    for link in (" in ", ": ", " = ", " ["):
        path = written(tmp_path, f"# dq{link}{unit}\nt,q1,q2,dq1,dq2{ROWS}")
        with pytest.raises(ParseError, match="dq of joint1 has no unit"):
            read(path, ROBOT)


HARMLESS = [
    "units: SI",
    "Time: Mon May  3 12:00:01 2021", "time: 2021-05-03T10:00:00Z", "torque: measured by a sensor",
    "Torque sensor: ATI Mini45", "velocity (filtered)", "q: q1, q2", "q = [0.1, 0.2]", "q[0]: 0.3",
    "position, velocity and torque of all joints", "positions in the order of the joints",
    "time in s since 1970", "Time [s], Position [rad], Torque [Nm]", "torque in joint 1",
    "time - s", "position control, gains 100", "speed: 50 %", "torque limit: 80", "t: time",
    "recorded at 1000 Hz", "every 10 ms", "finished in 10 ms", "payload 2 kg", "payload in kg",
    "1000 samples", "frames of the camera are left out", "rev 3, 5 turns of the screw", "in s, rad",
    "recorded at 20 deg C room temperature", "arm in m", "limits are 90 deg", "configuration: A",
    "time steps are equal", "torque samples of 3 runs: 100", "position 3: after 5 turns",
    "sensor: V", "the tool of the arm is 30 mm long", "recording time: 10 min", "start in 5 ms",
    "grade: A, t = 5",
    "temperature in celsius", "recorded in a room", "written in a hurry", "2 steps, 90 % done",
    "sample time: 1e-3 s", "time step = 0.001 s", "stopped in 0.1 s", "time: 500 samples",
    "units: s,rad,rad,N m,N m", "time in s", "q in rad, tau in N m", "period (ms): 10",
]  # fmt: skip


@pytest.mark.parametrize("comment", HARMLESS)
def test_other_comments_are_read_over(comment, tmp_path):
    for text in (f"# {comment}\nt,q1,q2,tau1,tau2{ROWS}", f"t,q1,q2,tau1,tau2{ROWS}"):
        assert read(written(tmp_path, text), ROBOT).q[0].tolist() == [1, 2]


def test_two_comments_on_units_that_agree_are_read(tmp_path):
    units = "# s,deg,deg,-,-\n# units: s,degrees,°,N m,N m\n"
    for text in (f"{units}t,q1,q2,tau1,tau2{ROWS}", f"# t,q1,q2,tau1,tau2\n{units}{ROWS.lstrip()}"):
        assert np.allclose(read(written(tmp_path, text), ROBOT).q[0], np.deg2rad([1, 2]))


BY_HAND = {
    ("tau1_mNm", "tau:joint1 [N m]"): "is in mN m by the file and is mapped to 'tau:joint1 .N m.'",
    ("enc1 [deg]", "q:joint1 [rad]"): "is in deg by the file",
    ("enc1_deg [rad]", "q:joint1"): "states two units, rad and deg",
    ("x1", "tau:joint1 [foo]"): "'foo' is not a unit that is read; expected one of tau",
    ("x1", "tau:joint1 [deg]"): "tau of joint1 is stated in deg",
    ("x1 [A]", "tau:joint1"): r"in A, a unit that is not read.*'tau:joint1 \[N m\]'",
    ("x1_mA", "tau:joint1"): "seems to be in mA",
    ("x1_MNm", "tau:joint1"): "seems to be in MNm",
    ("x1 %", "tau:joint1"): "seems to be in %",
    ("x1_pct", "tau:joint1"): "seems to be in %",
    ("x1 [foo]", "tau:joint1"): "seems to be in foo",
    ("x1_counts", "q:joint1"): "seems to be in counts",
    ("x1_grad", "q:joint1"): "seems to be in grad",
    ("x1_rad_x1000", "q:joint1"): "seems to be in rad and x1000",
    ("x1_e-3rad", "q:joint1"): "seems to be in rad and e-3",
    ("x1_hundredths_deg", "q:joint1"): "seems to be in deg and hundredths",
    ("x1_ms", "q:joint1"): "q of joint1 is stated in ms",
    ("x1_rpm", "q:joint1"): "q of joint1 is stated in rpm",
}


@pytest.mark.parametrize(("head", "target"), BY_HAND)
def test_mappings_do_not_silence_units(head, target, tmp_path):
    positions = target.startswith("q")
    heads = f"t,{head},q:joint2" if positions else f"t,q1,q2,{head},tau:joint2"
    rows = "\n0,1,2\n1,2,3\n2,3,4\n" if positions else ROWS
    path = written(tmp_path, heads + rows)
    with pytest.raises(ParseError, match=BY_HAND[head, target]):
        read(path, ROBOT, columns={head: target})


def test_a_unit_that_is_not_read_is_replaced_by_that_of_the_mapping_with_a_note(tmp_path):
    path = written(tmp_path, "t,q1,q2,x1 [A],x2_A" + ROWS)
    mapping = {"x1 [A]": "tau:joint1 [N m]", "x2_A": "tau:joint2"}
    found = read(path, ROBOT, columns=mapping)
    assert found.tau[0].tolist() == [3, 4]
    notes = found.meta["notes"]
    assert "column 'x1 [A]' is taken in N m, as its mapping states" in notes
    assert "no unit is stated for 'x2_A'; taken in N m" in notes


def test_columns_by_hand_without_any_unit_are_noted(tmp_path):
    path = written(tmp_path, "clock,x1_krad,x2º\n0,1,180\n1,2,90\n2,3,90\n")
    mapping = {"clock": "t", "x1_krad": "q:joint1", "x2º": "q:joint2 [deg]"}
    with pytest.raises(ParseError, match="q of joint2 is stated in deg, and q of joint1 has no"):
        read(path, ROBOT, columns=mapping)
    text = "clock,x1_krad,x2\n0,1,2\n1,2,3\n2,3,4\n"
    mapping = {"clock": "t", "x1_krad": "q:joint1", "x2": "q:joint2"}
    path = written(tmp_path, text)
    notes = read(path, ROBOT, columns=mapping).meta["notes"]
    assert "no unit is stated for 'x1_krad', 'x2'; taken in rad" in notes
    assert "no unit is stated for 'clock'; taken in s" in notes
    turned = read(path, ROBOT, columns=mapping, degrees=True)
    assert not any("taken in rad" in x for x in turned.meta["notes"])
    np.testing.assert_allclose(turned.q[0], np.deg2rad([1, 2]), rtol=1e-15)


@pytest.mark.parametrize(
    "names", [("arm_deg", "left_s"), ("joint_m", "tau_n"), ("rpm", "mm"), ("x_rad_s", "N m")]
)
def test_names_of_joints_are_not_units(names, tmp_path):
    robot = with_joint_names(ROBOT, names)
    for pattern in ("{}", "q:{}", "{}_position", "pos_{}"):
        heads = ",".join(["t", *map(pattern.format, names)])
        found = read(written(tmp_path, heads + "\n0,1,2\n1,2,3\n2,3,4\n"), robot)
        assert found.q.tolist() == [[1, 2], [2, 3], [3, 4]], pattern
    heads = ",".join(["t", *names])
    path = written(tmp_path, heads + "\n0,1,2\n1,2,3\n2,3,4\n")
    found = read(path, robot, columns={x: f"q:{x}" for x in names})
    assert found.q.tolist() == [[1, 2], [2, 3], [3, 4]]


def test_a_joint_whose_name_is_part_of_a_unit_does_not_hide_it(tmp_path):
    robot = with_joint_names(ROBOT, ("d", "g"))
    path = written(tmp_path, "t,enc1_deg,enc2_deg\n0,180,90\n1,180,90\n2,180,90\n")
    found = read(path, robot, columns={"enc1_deg": "q:d", "enc2_deg": "q:g"})
    np.testing.assert_allclose(found.q[0], [np.pi, np.pi / 2], rtol=1e-15)


def test_a_joint_or_a_joint_in_degrees_is_not_guessed(tmp_path):
    path = written(tmp_path, "t,x_deg,x\n0,1,2\n1,2,3\n2,3,4\n")
    with pytest.raises(ParseError, match=r"'x_deg' has several readings, q:x_deg and q:x \[deg\]"):
        read(path, with_joint_names(ROBOT, ("x", "x_deg")))


def test_lengths_of_sliding_joints_are_converted(tmp_path):
    names = SLIDING.joint_names
    slides = next(k for k, x in enumerate(SLIDING.model.joint_types) if x == "prismatic")
    heads = ["t", *(f"{x} [{'mm' if k == slides else 'deg'}]" for k, x in enumerate(names))]
    rows = "".join(f"{k},{','.join(['90'] * len(names))}\n" for k in range(3))
    found = read(written(tmp_path, ",".join(heads) + "\n" + rows), SLIDING)
    expected = np.full(len(names), np.pi / 2)
    expected[slides] = 0.09
    np.testing.assert_allclose(found.q[0], expected, rtol=1e-15)
    wrong = heads.copy()
    wrong[1 + slides] = f"{names[slides]} [deg]"
    with pytest.raises(ParseError, match=r"is stated in deg; expected m .* is a length"):
        read(written(tmp_path, ",".join(wrong) + "\n" + rows), SLIDING)


@pytest.mark.parametrize(
    ("heads", "joints", "factor"),
    [
        ("t,left_deg,right_deg", ("left", "right"), np.pi / 180),
        ("t,left [mrad],right [mrad]", ("left", "right"), 1e-3),
        ("t,left_pos_deg,right_pos_deg", ("left", "right"), np.pi / 180),
        ("t,q1Deg,q2Deg", ("joint_1", "joint_2"), np.pi / 180),
        ("t,q:left [mm],q:right [mm]", ("left", "right"), 1e-3),
    ],
)
def test_units_are_read_without_a_robot(heads, joints, factor, tmp_path):
    found = read(written(tmp_path, heads + "\n0,1,2\n1,2,3\n2,3,4\n"))
    assert found.joint_names == joints
    np.testing.assert_allclose(found.q[0], [factor, 2 * factor], rtol=1e-15)
    for unknown in ("t,left [foo],right [foo]", "t,left [deg] [rad],right"):
        with pytest.raises(ParseError):
            read(written(tmp_path, unknown + "\n0,1,2\n1,2,3\n"))


@pytest.mark.parametrize(("head", "factor"), [("time [min]", 60), ("t (h)", 3600), ("time_s", 1)])
def test_times_in_other_units(head, factor, tmp_path):
    path = written(tmp_path, f"{head},q1,q2\n0,1,2\n1,2,3\n2,3,4\n")
    assert read(path, ROBOT).t.tolist() == [0, factor, 2 * factor]
    if factor > 1:
        with pytest.raises(ParseError, match=r"by the file and is mapped to 't .s.'"):
            read(path, ROBOT, columns={head: "t [s]"})


def test_a_comment_of_names_may_have_one_that_is_a_unit(tmp_path):
    text = "# s,q1,q2\n0,1,2\n1,1,2\n"
    found = read(written(tmp_path, text), ROBOT, columns={"s": "t"})
    assert found.t.tolist() == [0, 1] and found.q[0].tolist() == [1, 2]
