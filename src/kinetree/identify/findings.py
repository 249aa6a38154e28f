"""Findings: remarks on a recording or a result, and the verdict that rests on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.identify import constants as const


@dataclass(frozen=True)
class Finding:
    """A remark on a recording or a result.

    Args:
        kind: key of the cause: "time-scale" (the clock is slow or fast), "clock-jitter" (samples
            are not those of their times), "encoder-zero", "gravity-compensated" and
            "friction-compensated" (tau lacks them), "sticking" (a joint slides too little),
            "saturation", "swapped-channels", "gear-ratio" (tau or q of a joint has another scale),
            "payload-change" and "drift" (of friction) during the recording, "gravity-direction",
            "external-force" (a constant one on a link), "pattern" (errors
            depend on the motion), "misfit" (errors of no known cause), "unphysical" (no possible
            robot has the base parameters), "worse" (than the description), "reading" (another sign,
            unit or order of joints fits better), "unsteady" (noise changes), "uneven" (errors
            are larger where a parameter is determined), "coloured" (errors are correlated over
            time), "outliers", "offset", "lag", "gains", "excitation" (motion that
            determines some parameters poorly), "not tested" (no motion was held out) or "check"
            (two computations of the result disagree).
        joints: names of the degrees of freedom concerned; empty: all.
        text: the remark, a sentence without its full stop.
    """

    kind: str
    joints: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Verdict:
    """Whether a result can be used, and why not.

    Args:
        word: "usable", "usable for" (a part of the result) or "not usable".
        use: the part that can be used; empty unless the word is "usable for".
        reasons: reasons against use, the most telling one first; empty if the word is "usable".
        undecided: faults that this recording could not show. They are no reasons against use, but
            conditions of it, and part of the verdict as text.
    """

    word: Literal["usable", "usable for", "not usable"] = "usable"
    use: str = ""
    reasons: tuple[Finding, ...] = ()
    undecided: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        unseen = "; ".join(str(x) for x in self.undecided if x not in self.reasons)
        if not self.reasons:
            return f"{self.word}, but {unseen}" if unseen else self.word
        causes = "; ".join(str(x) for x in self.reasons)
        text = f"{self.word} {self.use}{', ' * bool(self.use)}because {causes}"
        return f"{text}. Besides, {unseen}" if self.use and unseen else text


def names_at(names: Sequence[str], chosen: Array) -> tuple[str, ...]:
    """The names at which `chosen`, (n,), is true."""
    return tuple(name for name, x in zip(names, chosen, strict=True) if x)


def named(names: Iterable[object]) -> str:
    """Quoted names for a sentence, the first `LISTED` of them."""
    return listing(names, const.LISTED)
