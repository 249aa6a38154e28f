"""The benchmark's record: what it says must follow from its rows, and a half record is a record."""

import json
import os

import pytest
from benchmarks.compare import read_rows, worse
from benchmarks.fresh import in_a_copy
from benchmarks.machine import slug
from benchmarks.peers.labels import CONSTRAINED
from benchmarks.questions import OWN_ROBOTS, QUESTIONS, constrained, threads
from benchmarks.questions.labels import HEAVY
from benchmarks.record import Record
from benchmarks.required import OF_ONE, OF_PANDA, REQUIRED, verdicts
from benchmarks.robots import SOURCES
from benchmarks.rows import Answer, Row, timing_rows
from benchmarks.run import asked_about
from benchmarks.timing import FEWEST, Effort, Job, Timing, side_by_side

from kinetree.engine.call.threads import cores

ABOUT = {
    "date": "2026-01-02 03:04 UTC",
    "machine": {
        "processor": "Some(R) Vendor 12-Core Processor @ 3 GHz",
        "cores": 4,
        "features": ["avx2"],
        "system": "Linux x86_64",
        "load": 0.1,
    },
    "versions": {"python": "3.11"},
    "commit": "abc",
}


def batch_rows(ours, theirs):
    timings = {
        "kinetree": Timing((ours, ours * 3)),
        "Pinocchio, parallel pool": Timing((theirs, theirs * 2)),
    }
    return timing_rows("throughput", "panda", "inverse_dynamics", timings, 4096)


def verdict_of(rows, robot="Panda 7", notes=()):
    what = "inverse dynamics vs Pinocchio's pool, 1 thread"
    return next(v for v in verdicts(rows, notes) if (v.what, v.robot) == (what, robot))


@pytest.mark.parametrize(("theirs", "word"), [(36e-9, "pass"), (34e-9, "SHORT")])
def test_a_requirement_is_judged_by_the_ratio_of_best_repeats(theirs, word):
    verdict = verdict_of(batch_rows(1e-9, theirs))
    assert verdict.word == word
    assert verdict.measured == f"{theirs / 1e-9:.4g}x"
    assert verdict.spread == pytest.approx(2.0)  # kinetree's, the larger one


def test_a_core_shared_with_others_is_judged_by_cpu_time():
    timings = {
        "kinetree": Timing((2e-9, 3e-9), (1e-9, 1e-9)),
        "Pinocchio, parallel pool": Timing((36e-9, 37e-9), (36e-9, 36e-9)),
    }
    verdict = verdict_of(timing_rows("throughput", "panda", "inverse_dynamics", timings, 4096))
    assert verdict.word == "pass (CPU time)"
    assert verdict.measured == "36x"


def test_what_was_not_measured_is_neither_passed_nor_failed():
    assert verdict_of(batch_rows(1e-9, 36e-9), robot="UR5 6").passed is None
    assert all(verdict.passed is None for verdict in verdicts([], []))


def test_every_requirement_is_judged_for_every_robot():
    single = len(OF_PANDA) + len(OF_ONE)
    assert len(verdicts([], [])) == len(REQUIRED) * len(SOURCES) + single + 2


@pytest.mark.parametrize(("theirs", "word"), [(20e-6, "pass"), (19e-6, "SHORT")])
def test_constrained_dynamics_of_a_batch_is_judged_for_the_robot_that_was_measured(theirs, word):
    timings = {"kinetree": Timing((1e-6,)), CONSTRAINED: Timing((theirs,))}
    quantity = f"{constrained.FORWARD}, feet held by pose"
    rows = timing_rows(constrained.MANY, "talos", quantity, timings, 4096)
    judged = [verdict for verdict in verdicts(rows, []) if verdict.passed is not None]
    assert [(verdict.robot, verdict.word) for verdict in judged] == [("Talos 44", word)]


@pytest.mark.parametrize(("listed", "passed"), [("none", True), ("scipy, sympy", False)])
def test_importing_a_forbidden_package_falls_short(listed, passed):
    assert verdicts([], [f"{HEAVY} {listed}"])[-1].passed is passed


def test_an_interrupted_record_is_written_and_says_so(tmp_path):
    record = Record(ABOUT, [Answer(batch_rows(1e-9, 36e-9), ["a note"])])
    data, text = record.write(tmp_path)
    stored = json.loads(data.read_text())
    assert not stored["finished"]
    assert [Row(**row) for row in stored["rows"]] == record.rows
    assert "interrupted" in text.read_text() and "- a note" in text.read_text()
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".md"]


def test_a_finished_record_replaces_the_half_one(tmp_path):
    record = Record(ABOUT)
    record.write(tmp_path)
    record.finished = True
    _, text = record.write(tmp_path)
    assert "interrupted" not in text.read_text()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_busy_machine_is_named_in_the_record(tmp_path):
    busy = {**ABOUT, "machine": {**ABOUT["machine"], "load": 6.0}}
    assert "busy" in Record(busy).write(tmp_path)[1].read_text()
    assert "busy" not in Record(ABOUT).write(tmp_path)[1].read_text()


def test_file_names_are_the_day_and_the_processor():
    assert slug(ABOUT) == "2026-01-02-some-vendor-4-cores"


def test_an_answer_survives_the_way_between_processes():
    answer = Answer(batch_rows(1e-9, 2e-9), ["x"])
    assert Answer.from_json(json.loads(json.dumps(answer.to_json()))) == answer


def test_a_comparison_names_what_got_worse_and_what_is_gone(tmp_path):
    count = Row("operations", "panda", "inverse_dynamics", "kinetree", 591, "")
    more = Row("operations", "panda", "inverse_dynamics", "kinetree", 700, "")
    gone = Row("latency", "panda", "mass_matrix", "Drake", 5.0, "ns", ratio=3.0)
    old = Record(ABOUT, [Answer([*batch_rows(1e-9, 36e-9), count, gone])], finished=True)
    slower = Record(ABOUT, [Answer([*batch_rows(2e-9, 60e-9), more])], finished=True)
    path, _ = old.write(tmp_path)
    assert read_rows(path) == old.rows and worse(old.rows, old.rows) == []
    ratio, operations, missing = worse(read_rows(path), slower.rows)
    assert ratio[3:] == ("Pinocchio, parallel pool", "36", "30", "20 %")
    assert operations[3:] == ("kinetree", "591", "700", "18 %")
    assert missing[3:] == ("Drake", "there", "missing", "")
    assert worse(slower.rows, old.rows) == []


def test_repeats_end_with_the_budget_and_are_as_many_for_all():
    jobs = {name: Job("pass", {}, lambda: None) for name in ("kinetree", "peer")}
    few = side_by_side(jobs, Effort(repeats=9, least=1e-9, budget=0.0))
    assert [len(x.seconds) for x in few.values()] == [FEWEST, FEWEST]
    all_of_them = side_by_side(jobs, Effort(repeats=9, least=1e-9, budget=60.0))
    assert [len(x.seconds) for x in all_of_them.values()] == [9, 9]


def test_every_question_is_asked_about_robots_that_it_has():
    asked = {question: list(asked_about(question, list(SOURCES))) for question in QUESTIONS}
    assert all(asked.values()) and asked["throughput"] == list(SOURCES)
    assert asked["imports"] == [""] and asked["calls"] == ["panda"]
    assert asked_about("constrained", ["ur5", "talos"]) == ["talos"]
    assert list(asked_about("growth", ["ur5"])) == list(OWN_ROBOTS["growth"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # its children use no threads
def test_first_calls_are_timed_in_copies_that_share_nothing():
    seen = []

    def work():
        seen.append(1)
        return len(seen)

    assert [in_a_copy(work) for _ in range(3)] == [1, 1, 1] and not seen


def test_the_roof_of_threads_is_the_copy_on_as_many():
    each = threads.bytes_each("inverse_dynamics", 7), threads.bytes_each("mass_matrix", 7)
    assert each == (8 * 28, 8 * 56)
    assert threads.counts()[0] == 1 and threads.counts()[-1] == cores()
    timings = {"1 thread": Timing((4e-9,)), "2 threads": Timing((2.5e-9,))}
    one, two = threads.rows_of("panda", "inverse_dynamics", timings, 10)
    assert (one.ratio, two.ratio, two.who) == (1.0, 1.6, "kinetree, 2 threads")
