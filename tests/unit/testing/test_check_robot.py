"""check_robot: sound robots pass, broken ones fail on the line that says what is broken."""

import dataclasses

import numpy as np
import pytest

from kinetree import Builder, Friction, Robot, algorithms, robots
from kinetree.errors import InputError, NameLookupError
from kinetree.model import ALL_TYPES, random_model
from kinetree.testing import CheckFailure, check_robot
from kinetree.testing.laws import KERNELS

SOME_KERNELS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_forces")
ALL_KERNELS = ("planar_2r", "cart_pole", "panda")  # robots of which all kernels are compared


def failed(report):
    return [line.law for line in report.failures]


def skipped(report):
    return [line.law for line in report.skipped]


def arm():
    """Two links in space, quick to compile."""
    builder = Builder("arm").link("base")
    builder.link("upper", 2.0, (0.1, 0.02, 0.2), np.diag([0.02, 0.03, 0.01]))
    builder.link("lower", 1.0, (0.15, 0, 0.03), np.diag([0.005, 0.01, 0.012]))
    builder.joint("turn", "revolute", "base", "upper")
    builder.joint("bend", "revolute", "upper", "lower", at=(0, 0, 0.4), axis=(0, 1, 0))
    return builder.frame("tip", "lower", (0.3, 0, 0), tool=True)


@pytest.mark.parametrize("name", robots.TREES)
def test_built_in_robots_pass(name):
    robot = getattr(robots, name)()
    names = None if name in ALL_KERNELS else SOME_KERNELS[:1]
    report = check_robot(robot, states=2 if robot.n < 12 else 1, kernel_names=names)
    assert report.ok, report
    mimics = any(joint.follows for joint in robot.model.joints)
    assert skipped(report) == ["ddq: articulated bodies = composite bodies"] * mimics
    assert all(line.error is None or line.error < line.limit / 4 for line in report.lines), report


@pytest.mark.parametrize("seed", range(6))
def test_random_robots_of_all_joint_types_pass(seed):
    model = random_model(seed, 1 + seed % 12, types=ALL_TYPES, mimic=seed % 3 == 0)
    report = check_robot(Robot(model), states=2, seed=seed, kernel_names=())
    assert report.ok, report


@pytest.mark.parametrize("type", sorted(set(ALL_TYPES)))
def test_kernels_of_every_joint_type_pass(type):
    report = check_robot(Robot(random_model(3, 2, types=(type,))), states=3)
    assert report.ok and not report.skipped, report
    assert sum(line.group == "kernels" for line in report.lines) == len(KERNELS)


@pytest.mark.parametrize(
    "name", ["forward_dynamics", "mass_matrix", "gravity_forces", "kinetic_energy"]
)
def test_a_kernel_that_errs_by_a_billionth_fails_on_its_own_line(name):
    robot = arm().build()
    kernel = getattr(robot, name)
    robot.__dict__[name] = lambda *state: kernel(*state) * (1 + 1e-9)
    report = check_robot(robot)
    assert failed(report) == [f"robot.{name}"]
    line = report.line(f"robot.{name}")
    assert 1e-11 < line.error < 1e-8 and line.limit < 1e-12


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_kernel_that_gives_no_numbers_fails(wrong):
    robot = arm().build()
    kernel = robot.bias_forces
    robot.__dict__["bias_forces"] = lambda q, dq: kernel(q, dq) * wrong
    assert failed(check_robot(robot)) == ["robot.bias_forces"]


def test_a_kernel_that_errs_in_batches_alone_fails():
    robot = arm().build()
    kernel = robot.mass_matrix
    robot.__dict__["mass_matrix"] = lambda q: kernel(q) + (q.ndim > 1) * 1e-6
    assert failed(check_robot(robot)) == ["robot.mass_matrix"]


def test_a_jacobian_of_another_frame_fails(monkeypatch):
    robot = arm().build()
    jacobian = robot.body_jacobian
    monkeypatch.setattr(robot, "body_jacobian", lambda q: jacobian(q, "lower"))
    assert failed(check_robot(robot)) == ["robot.body_jacobian"]


def test_a_kernel_of_the_wrong_shape_or_that_raises_is_a_line_and_no_crash():
    robot = arm().build()
    robot.__dict__["gravity_forces"] = lambda q: np.zeros(3)

    def broken(q):
        raise OSError("no such thing")

    robot.__dict__["mass_matrix"] = broken
    report = check_robot(robot)
    assert sorted(failed(report)) == ["robot.gravity_forces", "robot.mass_matrix"]
    assert "shape (3,), expected (2,)" in report.line("robot.gravity_forces").reason
    assert "raised OSError: no such thing" in str(report.line("robot.mass_matrix"))


def test_an_asymmetric_inertia_fails_the_symmetry_of_M():
    model = arm().build_model()
    twisted = model.I_com + np.array([[0, 1e-3, 0], [0, 0, 0], [2e-3, 0, 0]])
    report = check_robot(Robot(model.replace(I_com=twisted)), kernel_names=())
    assert "M is symmetric" in failed(report)
    assert not report.ok


def test_a_negative_mass_fails_the_definiteness_of_M_and_skips_its_inverse():
    builder = arm()
    builder.link("hole", -4.0, (0.5, 0, 0)).joint(
        "slide", "prismatic", "lower", "hole", axis=(1, 0, 0)
    )
    report = check_robot(builder.build(unphysical="allow"), kernel_names=SOME_KERNELS)
    assert failed(report) == ["M is positive definite"]
    assert "robot.forward_dynamics" in skipped(report)


@pytest.mark.parametrize(
    ("quantity", "laws"),
    [
        (
            "potential_energy",
            {"g + springs is the gradient of the potential energy", "power in = "},
        ),
        ("kinetic_energy", {"kinetic energy is dq M dq / 2", "power in = "}),
        ("mass_matrix_rate", {"dM/dt is the derivative of M", "dM/dt - 2 C is skew"}),
        ("gravity_forces_by_wrenches", {"g is the same by acceleration and by weights"}),
        ("body_jacobian", {"J_b of the tool is the derivative of its pose"}),
        ("mass_matrix_by_jacobians", {"M: Jacobians = composite bodies"}),
        ("forward_dynamics_by_articulated_bodies", {"ddq: articulated bodies = composite"}),
        ("coriolis_matrix", {"dM/dt - 2 C is skew", "tau = M ddq + C dq + g"}),
    ],
)
def test_an_algorithm_that_errs_fails_the_laws_it_stands_in(monkeypatch, quantity, laws):
    """By a millionth, and no other law is touched."""
    right = getattr(algorithms, quantity)

    def wrong(*arguments):
        return right(*arguments) * (1 + 1e-6)

    monkeypatch.setattr(algorithms, quantity, wrong)
    found = failed(check_robot(arm().build(), kernel_names=()))
    assert len(found) == len(laws)
    assert all(any(law.startswith(start) for start in laws) for law in found)


@pytest.mark.parametrize("name", ["closed", "link", "space"])
def test_a_formulation_that_errs_fails_its_agreement(monkeypatch, name):
    right = algorithms.FORMULATIONS[name]

    def wrong(*arguments, **options):
        record = right(*arguments, **options)
        return dataclasses.replace(record, tau=record.tau * (1 + 1e-9))

    monkeypatch.setitem(algorithms.FORMULATIONS, name, wrong)
    found = failed(check_robot(arm().build(), kernel_names=()))
    assert found == [f"tau: {name} formulation = Tree"]


def test_friction_of_any_function_passes():
    builder = arm().link("fan", 0.2, (0, 0, 0.1), np.diag([1e-3, 1e-3, 1e-3]))
    friction = Friction((0.1, 0.3), 0.2, function=lambda dq: 0.01 * dq * dq * dq)
    builder.joint("spin", "revolute", "lower", "fan", friction=friction)
    assert check_robot(builder.build(), kernel_names=SOME_KERNELS).ok


def test_a_singular_mass_matrix_skips_forward_dynamics_and_names_the_joint():
    builder = arm().link("feather").joint("free_end", "revolute", "lower", "feather")
    report = check_robot(builder.build())
    assert report.ok, report
    assert set(skipped(report)) == {
        "M is positive definite",
        "forward dynamics undoes inverse dynamics",
        "ddq: inverse dynamics = composite bodies",
        "ddq: articulated bodies = composite bodies",
        "robot.forward_dynamics",
    }
    assert all("'free_end'" in line.reason for line in report.skipped)
    assert "skipped: " in str(report)


def test_a_robot_without_joints_has_nothing_to_check():
    report = check_robot(Builder("stone").link("stone", 1.0).build())
    assert report.ok and len(report.skipped) == len(report.lines)
    assert {line.reason for line in report.lines} == {"no joint moves"}


def test_a_robot_in_weightless_space_passes():
    report = check_robot(arm().build().with_gravity((0, 0, 0)), kernel_names=SOME_KERNELS)
    assert report.ok, report


def test_the_same_seed_gives_the_same_report_and_another_one_does_not():
    robot = arm().build()
    first, again, other = (check_robot(robot, seed=seed, kernel_names=()) for seed in (1, 1, 2))
    assert first == again != other


def test_the_report_prints_a_line_a_law_and_a_summary():
    robot = arm().build()
    text = str(check_robot(robot, states=1, kernel_names=("mass_matrix",))).splitlines()
    assert text[0] == "arm: 2 degrees of freedom, 1 random state, seed 0"
    assert text[-1] == "23 passed, 0 failed, 0 skipped"
    lines = [line for line in text if line.startswith("  pass  ")]
    assert len(lines) == 20 and all("<=" in line for line in lines)
    assert all("rounding" in line or "differences" in line for line in lines)


def test_failures_are_raised_on_request_with_the_report():
    robot = arm().build()
    check_robot(robot, kernel_names=()).raise_if_failed()
    kernel = robot.mass_matrix
    robot.__dict__["mass_matrix"] = lambda q: kernel(q) + 1
    report = check_robot(robot, kernel_names=("mass_matrix",))
    with pytest.raises(
        CheckFailure, match=r"FAIL  robot.mass_matrix .* > .*\[state \d\]"
    ) as caught:
        report.raise_if_failed()
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(NameLookupError, match="there is no check 'gravity'"):
        report.line("gravity")


def test_factors_loosen_and_tighten_the_limits_of_a_group():
    robot = arm().build()
    tight = check_robot(robot, tolerance={"laws": 1e-6}, kernel_names=())
    assert {line.group for line in tight.failures} == {"laws"}
    plain, loose = (check_robot(robot, tolerance=x, kernel_names=()).lines for x in (1, 10))
    assert all(b.limit == 10 * a.limit for a, b in zip(plain, loose, strict=True))


def test_wrong_arguments_are_refused_with_the_way_out():
    robot = arm().build()
    with pytest.raises(InputError, match=r"given a Model; expected a Robot.*Robot\(model\)"):
        check_robot(robot.model)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="states is 0; expected a whole number"):
        check_robot(robot, states=0)
    with pytest.raises(NameLookupError, match=r"no group 'kernel' .* laws, agreement, kernels"):
        check_robot(robot, tolerance={"kernel": 2})
    with pytest.raises(InputError, match="tolerance of 'laws' is -1"):
        check_robot(robot, tolerance=-1)
    with pytest.raises(NameLookupError, match="no kernel 'mass' to check; expected some of"):
        check_robot(robot, kernel_names=("mass",))
    with pytest.raises(InputError, match="objects instead of numbers; expected floats"):
        check_robot(Robot(robot.model.replace(com=robot.model.com.astype(object))))
