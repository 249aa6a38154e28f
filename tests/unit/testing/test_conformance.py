"""The conformance suite: verdicts, records without private names, and faults that it finds.

Whole runs belong to `make matrix` and `make release-check`; here pieces run in this process.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kinetree import robots
from kinetree.errors import NameLookupError
from kinetree.testing import ConformanceFailure, Finding, __main__, conformance, run_conformance
from kinetree.testing.conformance import (
    GROUPS,
    cache,
    calls,
    commands,
    kernels,
    machine,
    numbers,
    processes,
    record,
)
from kinetree.testing.conformance.record import Choice, Conformance, compared, equal, skipped

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
faults = pytest.importorskip("plant_conformance_faults", reason="tools/ is not distributed")

FACTS = {
    "kinetree": "0", "system": "Linux x86_64", "processor": "some", "Python": "3", "NumPy": "2",
    "kernels": "LLVM",
}  # fmt: skip


def failed(findings):
    return [x.name for x in findings if x.outcome == record.FAILED]


def made(*findings, names=("numbers", "cache"), **options):
    titles = {name: GROUPS[name].title for name in names}
    return Conformance(FACTS, titles, findings, 1.5, **options)


FINE = Finding("sum", record.PASSED, "2", "2", group="numbers", seconds=0.1)
WRONG = Finding("entry 1", record.FAILED, "0", "1", "Run: kinetree cache clear.", "cache", 0.2)


def test_a_record_without_failures_conforms():
    found = made(FINE, skipped("later", "no device"))
    assert found.ok and found.checks == 1 and not found.failures
    found.raise_if_failed()
    assert str(found).endswith("1 check in 2 s, 1 skipped: this installation conforms.")


def test_a_failure_shows_the_element_both_results_and_the_way_out():
    text = str(made(FINE, WRONG))
    for part in ("FAILED  cache: entry 1", "expected  0", "found     1", "kinetree cache clear"):
        assert part in text
    with pytest.raises(ConformanceFailure, match="1 check FAILED"):
        made(FINE, WRONG).raise_if_failed()


def test_a_run_without_checks_does_not_conform():
    assert not made(replace(FINE, outcome=record.SKIPPED)).ok


def test_a_verdict_without_failures_fits_one_screen():
    findings = [replace(FINE, group=name) for name in GROUPS]
    findings += [replace(skipped("x" * 90, "because " * 20), group="cuda")]
    lines = str(made(*findings[:-2], findings[-1], names=GROUPS)).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert all(line.isascii() for line in lines)


def test_many_failures_are_counted_and_some_are_shown():
    text = str(made(*(replace(WRONG, name=f"entry {k}") for k in range(30))))
    assert text.count("FAILED  cache") == record.MAX_SHOWN
    assert "and 22 more failures: --json lists all" in text


def test_json_has_every_check_and_no_folder_of_this_machine():
    place = f"in {Path.home() / 'robots'} and {machine.__file__}"
    found = made(FINE, replace(WRONG, found=place)).document()
    text = json.dumps(found)
    assert [x["name"] for x in found["findings"]] == ["sum", "entry 1"]
    assert found["conforms"] is False and found["checks"] == 2 and found["machine"] == FACTS
    assert str(Path.home()) not in text and str(Path(machine.__file__).parents[2]) not in text


def test_a_group_that_does_not_exist_is_refused_by_name():
    with pytest.raises(NameLookupError, match="'bit'"):
        run_conformance(["bit"])


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--fast"], "unrecognized arguments: --fast"),
        (["--only"], "--only: expected one argument"),
        (["--only", "bit"], "--only: invalid choice: 'bit' (choose from"),
        (["numbers"], "unrecognized arguments: numbers"),
    ],
)
def test_wrong_options_are_one_sentence_and_code_2(words, part, capsys):
    assert __main__.main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and part in err and err.count("\n") == 1


def test_a_wrong_vector_width_is_one_sentence_and_code_2(monkeypatch, capsys):
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("KINETREE_TARGET", "avx1024")
    assert __main__.main(["--only", "machine"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "KINETREE_TARGET is 'avx1024'; expected one of" in err
    assert err.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("target", [">&-", ">/dev/full", ">&- 2>&-"])
def test_an_output_that_cannot_be_written_is_one_sentence_and_code_74(target):
    command = f'"{sys.executable}" -m kinetree.testing --help {target}'
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 74
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == (0 if "2>" in target else 1), ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_names_every_group_in_80_columns(capsys):
    assert __main__.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in GROUPS)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("finding", "code"), [(FINE, 0), (WRONG, 1)])
def test_the_exit_code_is_the_verdict(finding, code, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "run_conformance", lambda *_, **__: made(finding))
    assert __main__.main([]) == code
    assert __main__.main(["--json"]) == code
    assert json.loads(capsys.readouterr().out.partition("{")[2].join("{ "))["conforms"] == (
        not code
    )


def test_ctrl_c_is_one_line_and_code_130(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "run_conformance", interrupted)
    assert __main__.main([]) == 130
    assert capsys.readouterr().err == "python -m kinetree.testing: interrupted\n"


def test_a_part_that_raises_is_a_failed_check_and_the_others_run(monkeypatch):
    def first(choice):
        yield equal("one", 1, 1)
        raise ZeroDivisionError("no reason")

    group = conformance.Group("x", (first, lambda choice: iter([equal("two", 2, 2)])))
    monkeypatch.setitem(GROUPS, "numbers", group)
    found = list(conformance.perform("numbers", Choice()))
    assert [x.outcome for x in found] == ["pass", "FAIL", "pass"]
    assert found[1].name == "first" and "ZeroDivisionError: no reason" in found[1].found
    assert {x.group for x in found} == {"numbers"}


def test_a_process_that_ends_early_is_a_failure_of_every_group_it_had(monkeypatch):
    monkeypatch.setattr(processes, "ROOT", "/elsewhere")  # the process finds another kinetree
    found = run_conformance(["numbers", "calls"]).findings
    assert [x.group for x in found] == ["numbers", "calls"]
    assert len(failed(found)) == 2 and "found another kinetree" in found[0].found


def test_findings_come_from_another_process():
    seen = []
    found = run_conformance(["machine"], progress=seen.append)
    assert found.ok and not found.complete and list(found.findings) == seen
    assert "sqrt(2)" in [x.name for x in seen]


@pytest.mark.parametrize(
    ("line", "outcomes"),
    [
        ("llvmlite>=0.45 ; sys_platform != 'emscripten'", ["FAIL"]),
        ('llvmlite>=0.45; sys_platform != "emscripten"', ["FAIL"]),
        ("llvmlite>=0.45", ["FAIL"]),
        (f"llvmlite>=0.45; sys_platform != '{sys.platform}'", []),
        ("llvmlite>=0.45; extra == 'fast'", []),
    ],
)
def test_a_version_that_is_too_old_is_found_behind_a_marker(line, outcomes, monkeypatch):
    monkeypatch.setattr(machine.metadata, "requires", lambda name: [line])
    monkeypatch.setattr(machine, "version", lambda name: "0.44.1")
    assert [x.outcome for x in machine.requirements(Choice())][1:] == outcomes


def test_the_usual_temporary_folder_is_replaced():
    assert record.without_paths("in /tmp/mine/x") == "in <temporary folder>/mine/x"


@pytest.mark.parametrize("target", ["", "generic"])
def test_fused_products_are_rounded_once(target, monkeypatch):
    """On x86 the generic family calls the C library."""
    monkeypatch.setenv("KINETREE_TARGET", target)
    found = list(machine.fused(Choice()))
    assert len(found) == 4 and not failed(found)


def twice(dtype):
    """A product and a sum that are rounded to `dtype` and then to the type of the arguments."""

    def product(*arguments):
        a, b, c = (np.asarray(x).astype(dtype or x.dtype) for x in arguments)
        with np.errstate(all="ignore"):
            return (a * b + c).astype(arguments[0].dtype)

    return product


@pytest.mark.parametrize(
    ("planted", "count"), [(None, 4), (np.float64, 4), (np.longdouble, 4)], ids=str
)
def test_fused_products_that_are_rounded_twice_are_found(planted, count, monkeypatch):
    monkeypatch.setattr(machine, "product_kernel", lambda: twice(planted))
    monkeypatch.setattr(machine.engine, "fuses", lambda target: False)
    if np.finfo(np.longdouble).nmant > 100 and planted is np.longdouble:
        count = 2  # 113 bits are enough for float32
    found = list(machine.fused(Choice()))
    assert len(failed(found)) == count
    assert "differ from those of other machines in their last bits" in found[0].advice
    assert "function fma of the C library" in found[0].advice or not machine.has_llvm()


def test_cases_of_fused_products_are_exact_in_their_type():
    for dtype in (np.float64, np.float32):
        cases = machine.product_cases(dtype)
        assert len(cases) > 250 and np.isfinite(cases).all()


def test_printed_numbers_agree_to_half_a_unit_of_their_last_digit():
    assert numbers.agreed("x", "1.25 2.0", [1.2549, 1.951]).outcome == record.PASSED
    assert numbers.agreed("x", "1.25", [1.2551]).outcome == record.FAILED
    assert numbers.agreed("x", "1.25 2.0", [1.25]).outcome == record.FAILED


@pytest.mark.parametrize(
    "part",
    [*numbers.PRINTED, *numbers.MOTIONS, *numbers.EXPORT, *numbers.SYMBOLS, calls.layouts,
     calls.first_answers, calls.thread_counts, calls.other_processes],
    ids=lambda x: x.__name__,
)  # fmt: skip
def test_results_are_as_stored_and_the_same_in_every_way_of_calling(part):
    found = list(part(Choice()))
    assert not failed(found), [x for x in found if x.outcome == record.FAILED]


def test_a_kernel_that_is_wrong_at_very_large_angles_is_found(monkeypatch):
    careful = pytest.importorskip("kinetree.engine.llvm.careful")
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(kernels, "AT_ANGLES", ("planar_2r",))
    monkeypatch.setattr(kernels, "ANGLE_ERRORS", {"float64": 4e-15})
    assert failed(kernels.unusual_angles(Choice())) == []
    monkeypatch.setenv("KINETREE_CACHE", "off")
    monkeypatch.setattr(careful, "HALF_PI", (careful.HALF_PI[0] * (1 + 1e-6),))
    fresh = robots.planar_2r().with_gravity((0, -9.503, 0))  # a kernel that is not compiled yet
    monkeypatch.setattr(kernels.robots, "planar_2r", lambda: fresh)
    assert len(failed(kernels.unusual_angles(Choice()))) == 2


def test_the_table_of_bits_is_whole_and_a_changed_hash_is_found(monkeypatch):
    assert not failed(kernels.table(Choice()))
    text = kernels.files("kinetree.testing").joinpath(kernels.TABLE).read_bytes()
    at = text.rindex(b"float64") + 30
    changed = text[:at] + (b"1" if text[at : at + 1] == b"0" else b"0") + text[at + 1 :]

    class Place:
        def joinpath(self, name):
            return self

        def read_bytes(self):
            return changed

    monkeypatch.setattr(kernels, "files", lambda package: Place())
    assert failed(kernels.table(Choice())) == ["the table of bits is as it was stored"]


def test_one_bit_makes_two_arrays_differ():
    x = np.linspace(0, 1, 12).reshape(3, 4)
    y = x.copy()
    y[2, 1] = np.nextafter(y[2, 1], 2)
    assert calls.differing(x, x) == ""
    assert "1 numbers differ; entry (2, 1)" in calls.differing(y, x)
    assert "shape" in calls.differing(x[:2], x)
    assert calls.differing(np.array(-0.0), np.array(0.0)) != ""


@pytest.mark.parametrize("part", cache.PARTS[:3], ids=lambda x: x.__name__)
def test_the_cache_survives_damage_and_trouble(part):
    # the tests of this project keep all entries of their cache, whatever its limit
    assert set(failed(part(Choice()))) <= {"KINETREE_CACHE_SIZE"}


def test_a_damaged_entry_of_the_users_cache_is_found(tmp_path):
    values = {"KINETREE_CACHE_DIR": str(tmp_path), "KINETREE_CACHE": None}
    with cache.surroundings(values):
        cache.answer(robots.rp())
    choice = Choice(own_cache=values)
    assert not failed(cache.own_cache(choice))
    path = cache.stored(tmp_path)[0]
    path.write_bytes(cache.flipped(path.read_bytes(), 200))
    assert failed(cache.own_cache(choice)) == ["damaged entries of your own cache"]


def test_the_cache_of_the_user_is_restored_after_a_check(monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE_DIR", "somewhere")
    monkeypatch.delenv("KINETREE_CACHE_SIZE", raising=False)
    with cache.empty_cache() as place:
        assert os.environ["KINETREE_CACHE_DIR"] == str(place)
    assert os.environ["KINETREE_CACHE_DIR"] == "somewhere"
    assert "KINETREE_CACHE_SIZE" not in os.environ


def test_statements_of_c_have_no_comments_and_no_directives():
    text = "#if defined(A) \\\n    || defined(B)\n  x = 1; // one\n/* two\nlines */\n#endif\n"
    assert numbers.statements(text) == "x = 1;"


def test_cuda_is_checked_on_request_only():
    (found,) = kernels.cuda(Choice())
    assert found.outcome == record.SKIPPED and found.found == "only with --cuda"


def test_tables_are_compared_word_by_word():
    assert commands.words("a   b\n\u2500\u2500\u2500\n\n c \n") == ["a b", "c"]


def test_a_command_that_prints_a_traceback_is_found(monkeypatch):
    ended = processes.Ended(0, "", "Traceback (most recent call last):\nValueError: x")
    monkeypatch.setattr(commands, "run", lambda folder, line: ended)
    found = failed(commands.command_line(Choice()))
    assert sum("message" in x or "code" in x for x in found) > 2 * len(commands.ERRORS)


def test_a_changed_file_of_an_installed_package_is_found(monkeypatch, tmp_path):
    """A distribution whose list has another hash for one of its files."""
    package, data = tmp_path / "kinetree", tmp_path / "kinetree-9.dist-info"
    package.mkdir()
    data.mkdir()
    (package / "__init__.py").write_text("x = 1\n")
    digest = machine.base64.urlsafe_b64encode(machine.hashlib.sha256(b"x = 1\n").digest())
    (data / "RECORD").write_text(f"kinetree/__init__.py,sha256={digest.decode().rstrip('=')},6\n")
    own = machine.metadata.PathDistribution(data)
    monkeypatch.setattr(machine.metadata, "distribution", lambda name: own)
    monkeypatch.setattr(sys.modules["kinetree"], "__file__", str(package / "__init__.py"))
    assert not failed(machine.files(Choice()))
    (package / "__init__.py").write_text("x = 2\n")
    (finding,) = machine.files(Choice())
    assert finding.outcome == record.FAILED and "__init__.py was changed" in finding.found


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda x: x.name)
def test_a_fault_can_be_planted_in_the_source_of_today(fault):
    text = (faults.SOURCE / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1 and fault.old != fault.new


def test_a_planted_fault_is_found_by_a_run_of_the_program():
    code, found = faults.trial("a printed number of the course was changed", ["numbers"])
    assert code == 1
    assert "numbers: exercise 2.2 2R without gravity, screw formulation" in found


def test_the_suite_needs_no_test_framework():
    """And no optional package: the modules load with all of them blocked."""
    code = (
        "import sys\n"
        "for name in ('pytest', 'scipy', 'sympy', 'hypothesis', 'matplotlib', 'cupy'):\n"
        "    sys.modules[name] = None\n"
        "import kinetree.testing.__main__\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=processes.environment())


def test_comparisons_keep_short_texts():
    found = compared("x", False, "a" * 10_000, "b")
    assert len(found.expected) < 700 and found.found == "b"
    assert conformance.run_conformance is run_conformance
