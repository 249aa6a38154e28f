"""Xacro files of a stranger: they read no file outside their folders and no variable."""

import os
import subprocess
import sys

import pytest

import kinetree as kt
from kinetree.errors import KinetreeError, KinetreeWarning

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
SECRET = "hunter2"
PACKAGE = "<package><name>{}</name></package>"


def link(name):
    return f'{HEAD}<link name="{name}"/></robot>'


def yaml_of(path):
    return link(f"${{str(xacro.load_yaml('{path}'))}}")


def include_of(path, more=""):
    return f"{HEAD}<xacro:include filename=\"{path}\" {more}/><link name='a'/></robot>"


def make_link(path, target):
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("this system does not let users make links")


@pytest.fixture
def disk(tmp_path):
    """The stranger's folder, and secrets outside of it: a YAML file, XML, and neither."""
    secrets = tmp_path / "private"
    secrets.mkdir()
    (secrets / "token.yaml").write_text(f"token: {SECRET}")
    (secrets / "token.xacro").write_text(link(SECRET))
    (secrets / "token.txt").write_text(f"{SECRET}: [")
    robot = tmp_path / "stranger"
    robot.mkdir()
    make_link(robot / "linked", secrets)
    make_link(robot / "linked.yaml", secrets / "token.yaml")
    make_link(robot / "linked.xacro", secrets / "token.xacro")
    return robot


def refusal(path, **options):
    """The message of a file that is refused; it and the report of no other robot has the secret."""
    with pytest.raises(KinetreeError) as caught:
        kt.load(path, **options)
    assert SECRET not in str(caught.value)
    return str(caught.value)


OUTSIDE = [
    yaml_of("{private}/token.yaml"),
    yaml_of("{private}/token.txt"),
    yaml_of("{private}/there_is_no_such_file.yaml"),
    yaml_of("../private/token.yaml"),
    yaml_of("linked/token.yaml"),
    yaml_of("linked/../private/token.yaml"),
    yaml_of("linked.yaml"),
    yaml_of("file://{private}/token.yaml"),
    yaml_of("$(dirname)/../private/token.yaml"),
    yaml_of("$(find own)/../private/token.yaml"),
    yaml_of("$(find linked)/token.yaml"),
    yaml_of("$(find private)/token.yaml"),
    yaml_of("/etc/passwd"),
    yaml_of("' + chr(0) + '"),
    yaml_of("\\x00"),
    link("${{xacro.abs_filename('{private}/token.yaml')}}"),
    include_of("{private}/token.xacro"),
    include_of("{private}/token.xacro", 'optional="true"'),
    include_of("{private}/no_such_file.xacro", 'optional="true"'),
    include_of("../private/token.xacro"),
    include_of("linked.xacro"),
    include_of("file://{private}/token.xacro"),
    include_of("file://localhost{private}/token.xacro"),
    include_of("{private}/*.xacro"),
    include_of("../*/token.xacro"),
    include_of("linke?/token.xacro"),
    include_of("*.xacro"),
]


@pytest.mark.parametrize("text", OUTSIDE)
def test_no_file_outside_the_folder_is_read(disk, text):
    private = disk.parent / "private"
    (disk / "package.xml").write_text(PACKAGE.format("own"))
    content = text.replace("{private}", str(private)).replace("{{", "{").replace("}}", "}")
    (disk / "robot.xacro").write_text(content)
    message = refusal(disk / "robot.xacro")
    if str(private / "token") in message:
        assert (
            "outside the folders" in message and "--folder" in message and str(private) in message
        )


def test_the_message_names_the_way_out_and_the_way_out_works(disk):
    private = disk.parent / "private"
    (disk / "robot.xacro").write_text(yaml_of("../private/token.yaml"))
    message = refusal(disk / "robot.xacro")
    assert "robot.xacro:1" in message and f"give the folder {str(private)!r} in folders=" in message
    assert SECRET in kt.load(disk / "robot.xacro", folders=[private]).model.base_name


@pytest.mark.parametrize("name", ["projects", "sibling"])
def test_a_folder_that_is_a_package_by_its_name_alone_is_not_read(tmp_path, name):
    """Any folder above or beside the file could be named; a package has a package.xml."""
    (tmp_path / "projects" / "sibling").mkdir(parents=True)
    for folder in ("projects", "projects/sibling"):
        (tmp_path / folder / "token.yaml").write_text(f"token: {SECRET}")
    robot = tmp_path / "projects" / "stranger"
    robot.mkdir()
    (robot / "package.xml").write_text(PACKAGE.format("stranger"))
    (robot / "robot.xacro").write_text(yaml_of(f"$(find {name})/token.yaml"))
    assert "outside the folders" in refusal(robot / "robot.xacro")
    (robot / "package.xml").unlink()
    refusal(robot / "robot.xacro")
    target = tmp_path / "projects" / ("" if name == "projects" else name)
    assert SECRET in kt.load(robot / "robot.xacro", folders=[target]).model.base_name


def test_a_package_with_its_package_xml_is_read_and_a_link_out_of_the_workspace_is_not(tmp_path):
    workspace = tmp_path / "ws" / "src"
    for folder in (workspace / "arm", workspace / "parts", tmp_path / "private"):
        folder.mkdir(parents=True)
        (folder / "package.xml").write_text(PACKAGE.format(folder.name))
        (folder / "data.yaml").write_text("word")
    robot = workspace / "arm" / "urdf" / "robot.xacro"
    robot.parent.mkdir()
    for name in ("arm", "parts"):
        robot.write_text(yaml_of(f"$(find {name})/data.yaml"))
        assert kt.load(robot).model.base_name == "word"
    robot.write_text(yaml_of("../data.yaml"))
    assert kt.load(robot).model.base_name == "word"
    make_link(workspace / "linked", tmp_path / "private")
    robot.write_text(yaml_of("$(find private)/data.yaml"))
    assert "outside the folders" in refusal(robot)


@pytest.mark.parametrize("text", OUTSIDE)
def test_a_text_reads_no_file_at_all(disk, text, monkeypatch):
    monkeypatch.chdir(disk)
    private = str(disk.parent / "private")
    content = text.replace("{private}", private).replace("{{", "{").replace("}}", "}")
    with pytest.raises(KinetreeError) as caught:
        kt.load_string(content, format="xacro")
    assert SECRET not in str(caught.value)


VARIABLES = [
    "$(env KINETREE_TOKEN)",
    "$(eval env('KINETREE_TOKEN'))",
    "${'$(env KINETREE_TOKEN)'}",
    "$(arg token)",
]


@pytest.mark.parametrize("text", VARIABLES)
def test_no_variable_is_read_unless_it_is_allowed(tmp_path, text, monkeypatch):
    monkeypatch.setenv("KINETREE_TOKEN", SECRET)
    argument = '<xacro:arg name="token" default="$(env KINETREE_TOKEN)"/>' if "arg" in text else ""
    (tmp_path / "robot.xacro").write_text(f'{HEAD}{argument}<link name="{text}"/></robot>')
    message = refusal(tmp_path / "robot.xacro")
    assert "'KINETREE_TOKEN' is not read" in message and "environment=True" in message
    robot = kt.load(tmp_path / "robot.xacro", environment=True)
    assert robot.model.base_name == SECRET
    assert "'KINETREE_TOKEN' is read" in str(robot.report)
    with pytest.raises(KinetreeError, match="is not read"):
        kt.load_string((tmp_path / "robot.xacro").read_text(), format="xacro")


@pytest.mark.parametrize(
    "text", ["$(optenv KINETREE_TOKEN x)", "$(eval optenv('KINETREE_TOKEN', 'x'))"]
)
def test_an_optional_variable_is_its_default_and_the_warning_has_no_secret(
    tmp_path, text, monkeypatch
):
    (tmp_path / "robot.xacro").write_text(link(text))
    monkeypatch.delenv("KINETREE_TOKEN", raising=False)
    assert kt.load(tmp_path / "robot.xacro").model.base_name == "x"
    monkeypatch.setenv("KINETREE_TOKEN", SECRET)
    with pytest.warns(KinetreeWarning, match="'KINETREE_TOKEN' is set") as caught:
        robot = kt.load(tmp_path / "robot.xacro")
    assert robot.model.base_name == "x"
    assert SECRET not in str(robot.report) + str(caught[0].message)
    assert kt.load(tmp_path / "robot.xacro", environment=True).model.base_name == SECRET


def test_the_command_line_has_the_option(tmp_path):
    environment = {**os.environ, "KINETREE_TOKEN": SECRET}
    (tmp_path / "robot.xacro").write_text(link("$(env KINETREE_TOKEN)"))

    def ran(*words):
        call = [sys.executable, "-m", "kinetree", "info", str(tmp_path / "robot.xacro"), *words]
        return subprocess.run(call, env=environment, capture_output=True, text=True, timeout=60)

    found = ran()
    assert found.returncode == 2 and "allow it by --environment." in found.stderr
    assert SECRET not in found.stdout + found.stderr and "environment=True" not in found.stderr
    found = ran("--environment")
    assert found.returncode == 0 and SECRET in found.stdout


CODE = [  # expressions that would leave the language
    "().__class__.__base__.__subclasses__()",
    "''.__class__",
    "str.__class__",
    "(lambda: 0).__globals__",
    "xacro.load_yaml.__globals__",
    "load_yaml.__self__",
    "math.__loader__",
    "python.__builtins__",
    "python.open('x')",
    "python.type(1)",
    "python.vars()",
    "getattr(1, 'x')",
    "open('x')",
    "eval('1')",
    "exec('1')",
    "__import__('os')",
    "'{0.__class__}'.format(1)",
    "f'{(1).__class__}'",
    "[x for x in (1).__class__.__mro__]",
    "(x := 1)",
    "[].append(1)",
    "{}.setdefault('a', 1)",
    "'a'.encode()",
    "print('x')",
    "math.sin.__self__",
    "dict.fromkeys(range(9))",
    "xacro.print_location.__closure__",
    "(i for i in [1]).gi_frame",
    "await 1",
    "(yield 1)",
]


@pytest.mark.parametrize("text", CODE)
@pytest.mark.parametrize("form", ["${%s}", "$(eval %s)"])
def test_expressions_reach_no_python(tmp_path, text, form):
    (tmp_path / "robot.xacro").write_text(link(form % text))
    refusal(tmp_path / "robot.xacro")


def properties(*values):
    pairs = enumerate(values)
    return "".join(f'<xacro:property name="p{k}" value="{value}"/>' for k, value in pairs)


def doubled(k):
    return f"${{[{', '.join([f'p{k}'] * 10)}]}}"


MERGES = "a0: &a0 {k0: 1, k1: 1, k2: 1}\n" + "".join(
    f"a{k + 1}: &a{k + 1} {{<<: [{', '.join([f'*a{k}'] * 10)}]}}\n" for k in range(9)
)
CALLS = '<xacro:macro name="m0"><link name="a${p0}"/></xacro:macro>' + "".join(
    f'<xacro:macro name="m{k + 1}">{f"<xacro:m{k}/>" * 10}</xacro:macro>' for k in range(5)
)
LARGE = {
    "lists of lists": properties("${['x' * 1000] * 90}", *map(doubled, range(8)))
    + '<link name="${p8}"/>',
    "sums of lists": properties("${list(range(40000))}")
    + '<link name="${[len(p0 + p0) for i in range(90000)]}"/>',
    "sorted lists": properties("${list(range(40000))}")
    + '<link name="${len([sorted(p0)[0] for i in range(90000)])}"/>',
    "counted texts": properties("${'x' * 90000}")
    + "<link name=\"${len([p0.count('xy') for i in range(90000)])}\"/>",
    "long names": properties("${'x' * 90000}") + CALLS + "<xacro:m5/>",
    "merged YAML": "<link name=\"${len(xacro.load_yaml('merged.yaml'))}\"/>",
    "large YAML": "<link name=\"${len(xacro.load_yaml('large.yaml'))}\"/>",
    "powers": '<link name="${9**9**9**9}"/>',
    "products": "<link name=\"${'a' * 10**10}\"/>",
    "ranges": '<link name="${len(range(10**12))}"/>',
    "loops": '<link name="${len([1 for a in range(9999) for b in range(9999) if 0])}"/>',
    "functions": '<link name="${(lambda f: f(f))(lambda f: f(f))}"/>',
    "signs": f'<link name="${{{"-" * 60000}1}}"/>',
    "terms": f'<link name="${{{"1+" * 30000}1}}"/>',
}


@pytest.mark.parametrize("case", LARGE)
def test_work_and_memory_are_bounded(tmp_path, case, monkeypatch):
    """Each of these would otherwise take gigabytes or hours; a step takes about a microsecond."""
    monkeypatch.setattr("kinetree.files.description.xacro.expressions.MOST_STEPS", 100_000)
    resource = pytest.importorskip("resource", reason="memory cannot be limited here")
    (tmp_path / "merged.yaml").write_text(MERGES)
    (tmp_path / "large.yaml").write_text("[" + "1, " * 400_000 + "1]")
    (tmp_path / "robot.xacro").write_text(f"{HEAD}{LARGE[case]}</robot>")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refusal(tmp_path / "robot.xacro")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000 * (1 if os.uname().sysname == "Linux" else 1024)  # kB, or bytes
