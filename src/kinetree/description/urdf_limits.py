"""Limits of the joints of a URDF. They never change the dynamics, so doubts are warnings.

A velocity or effort limit of 0 is taken as not given: exporters write 0 where nothing was filled
in, and many robot descriptions use effort="0" for "not known". Four zeros are an empty form: no
limit at all. A range of 0 to 0 beside other limits is kept. Each of these is warned about.
"""

import math
from math import inf

from kinetree.description.records import Limits
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_poses import FAR, only
from kinetree.description.urdf_values import number, show
from kinetree.description.urdf_vocabulary import check_words
from kinetree.description.xml import Element

TWO_TURNS = 4 * math.pi + 0.01  # rad; more is rare, and mostly degrees
ENDLESS = 1e4  # rad; nobody writes that many degrees, it means "no limit"
NO_LIMIT = 1e30  # means it outright; urdfdom insists on numbers, and float32 still holds this one
LIMITED = ("revolute", "prismatic")


def read_limits(joint: Element, word: str, owner: str, findings: Findings) -> Limits:
    """Limits of a joint of URDF type `word`; infinite where the file sets none, or `NO_LIMIT`.

    By the rules of URDF a limit that gives one of lower and upper, or neither, leaves the others
    at zero.
    """
    limit = only(joint, "limit", owner, findings)
    if word not in (*LIMITED, "continuous"):
        return Limits()
    if limit is None:
        if word in LIMITED:
            text = f"a {word} joint needs a <limit>; without one it is taken as unlimited."
            findings.warn_together(joint, text, owner)
        return Limits()
    check_words(limit, owner, findings)
    keys = ("lower", "upper", "velocity", "effort")
    given = {key: number(limit, key, owner, largest=inf) for key in keys if key in limit.attributes}
    for key, value in given.items():
        none = -inf if key == "lower" else inf
        if math.copysign(value, none) == value and abs(value) >= NO_LIMIT:
            given[key] = none
            findings.count(limit, f"limits of {NO_LIMIT:g} and beyond are taken as none")
    if set(given) == set(keys) and not any(given.values()) and word in LIMITED:
        text = "<limit> has zeros only, as if it was never filled in; taken as unlimited."
        findings.warn_together(limit, text, owner)
        return Limits()
    for key in ("velocity", "effort"):
        if given.get(key, 0) < 0:
            text = f"{owner}: {key} limit {given.pop(key):g} is negative; taken as unlimited."
            findings.warn(limit, text)
        elif given.get(key) == 0:
            given.pop(key)
            findings.warn_together(limit, f"{key} limit 0 is taken as not given: unlimited.", owner)
    if word == "continuous":
        ends = [given.pop(key, 0) for key in ("lower", "upper")]
        if any(ends):
            findings.note(limit, f"{owner} is continuous; its lower and upper limits are ignored.")
        return Limits(**given)
    lower, upper = _range(limit, word, given, owner, findings)
    return Limits(lower, upper, given.get("velocity", inf), given.get("effort", inf))


def _range(
    limit: Element, word: str, given: dict[str, float], owner: str, findings: Findings
) -> tuple[float, float]:
    """(lower, upper), and what is odd about them."""
    absent = [key for key in ("lower", "upper") if key not in given]
    lower, upper = given.get("lower", 0.0), given.get("upper", 0.0)
    if absent:
        text = f"<limit> has no {' and no '.join(absent)}; 0 by the rules of URDF."
        findings.warn_together(limit, text, owner)
    elif lower == upper == 0:
        text = "lower and upper limit are both 0: the joint can only stand at 0."
        findings.warn_together(limit, text, owner)
    if lower > upper:
        text = f"lower limit {lower:g} is above upper limit {upper:g}; both are ignored."
        findings.warn(limit, f"{owner}: {text}")
        return -inf, inf
    largest = max(abs(lower), abs(upper))
    if word == "revolute" and TWO_TURNS < largest < ENDLESS:
        text = f"limits lower={show(f'{lower:g}')} upper={show(f'{upper:g}')} are beyond two turns"
        findings.warn(limit, f"{owner}: {text}; angles are in radians, are these degrees?")
    if word == "prismatic" and FAR < largest < ENDLESS:
        text = f"limits lower={show(f'{lower:g}')} upper={show(f'{upper:g}')} are beyond {FAR:g} m"
        findings.warn(limit, f"{owner}: {text}; lengths are in metres, are these millimetres?")
    return lower, upper
