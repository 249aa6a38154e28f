"""Single behaviours of inverse dynamics: signs of wrenches, records, wrong arguments."""

import numpy as np
import pytest

from kinetree import dynamics as kt
from kinetree import robots

REST = [0.0, 0.0]


@pytest.fixture
def arm():
    """The planar 2R, stretched along x, without gravity."""
    return robots.planar_2r().with_gravity((0, 0, 0)).model


@pytest.mark.parametrize("formulation", kt.FORMULATIONS)
def test_the_world_pushes_with_F_ext_and_the_tool_with_F_tip(arm, formulation):
    """10 N upward onto the tip, 1.8 m and 0.8 m from the joints."""
    onto = np.zeros((2, 6))
    onto[1] = [0, 0, 0.8 * 10, 0, 10, 0]
    pushed = kt.inverse_dynamics(arm, REST, REST, REST, onto, formulation=formulation)
    assert pushed == pytest.approx([-18, -8])
    tip = [0, 0, 0, 0, -10, 0]
    pushing = kt.inverse_dynamics(arm, REST, REST, REST, F_tip=tip, formulation=formulation)
    assert pushing == pytest.approx([-18, -8])
    named = {"tool": tip, "link1": [0, 0, 1, 0, 0, 0]}
    both = kt.inverse_dynamics(arm, REST, REST, REST, F_tip=named, formulation=formulation)
    assert both == pytest.approx([-17, -8])


def test_the_record_names_its_vectors(arm):
    """Second joint turning at 3 rad/s: centripetal acceleration towards it."""
    record = kt.newton_euler(arm, REST, [0, 3.0], REST, formulation="link")
    assert record.omega[1].tolist() == [0, 0, 3]
    assert record.a_c[1] == pytest.approx([-9 * 0.4, 0, 0])
    assert record.a_e[1] == pytest.approx([0, 0, 0])
    assert record.f[0] == pytest.approx([-19 * 9 * 0.4, 0, 0])
    assert record.formulation == "link"


def test_the_space_record_is_written_in_the_absolute_frame(arm):
    q = [np.pi / 2, 0]
    record = kt.newton_euler(arm, q, [0, 3.0], REST, formulation="space")
    assert record.frame == "space"
    assert record.a_c[1] == pytest.approx([0, -9 * 0.4, 0])
    assert record.V[1] == pytest.approx(kt.newton_euler(arm, q, [0, 3.0], REST).V[1])
