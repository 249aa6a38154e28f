"""SDF files against numbers of Drake, stored by drake_sdf.py: frames, joints, inertias."""

import json
from pathlib import Path

import numpy as np
import pytest

from kinetree.algorithms import (
    coriolis_matrix,
    friction_forces,
    gravity_forces,
    mass_matrix,
    neutral,
)
from kinetree.files.description.sdf import read_sdf_text
from kinetree.model import build_model

CASES = json.loads((Path(__file__).parent / "drake_sdf.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[f"{k}" for k in range(len(CASES))])
def test_dynamics_of_a_file_agree_with_drake(case):
    model = build_model(read_sdf_text(case["text"]))
    names = np.array(case["names"])
    assert set(model.joint_names) == set(names)
    order = [int(k) for name in model.joint_names for k in np.flatnonzero(names == name)]
    q, dq = neutral(model), np.array(case["dq"])[order]
    for joint in model.joints:
        if len(joint.coords) == 1:
            q[joint.coords[0]] = case["q"][order[joint.dofs[0]]]
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(
        mass_matrix(model, q), np.array(case["M"])[np.ix_(order, order)], **close
    )
    np.testing.assert_allclose(gravity_forces(model, q), np.array(case["g"])[order], **close)
    np.testing.assert_allclose(
        coriolis_matrix(model, q, dq) @ dq, np.array(case["c"])[order], **close
    )
    b = friction_forces(model, dq)
    np.testing.assert_allclose(b, np.array(case["damping"])[order] * dq, rtol=1e-15)
