"""Records of an explanation: a link has terms, a term has parts, and the parts add up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, matmul
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, is_numeric
from kinetree.base.tables import counted
from kinetree.explain.lookup import find
from kinetree.explain.torque import Torque
from kinetree.formulations.recursion import Recursion
from kinetree.model import Model


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a term: where it comes from, its equation in text and LaTeX, its value."""

    name: str
    equation: str
    latex: str
    value: Array


@dataclass(frozen=True, eq=False)
class Term:
    """One quantity of one link: what the recursion found, and the parts that make it.

    The parts add up to `value` to rounding; those of a pose multiply, in their order.
    """

    symbol: str
    parts: tuple[Part, ...]
    value: Array
    product: bool = False

    @property
    def total(self) -> Array:
        """The parts added up (a pose: multiplied)."""
        return reduce(matmul if self.product else add, [part.value for part in self.parts])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(part.name for part in self.parts)

    def __getitem__(self, name: str) -> Array:
        return find({part.name: part.value for part in self.parts}, name, "part", self.symbol)


@dataclass(frozen=True, eq=False)
class LinkSteps:
    """Everything about one link and the joint that it hangs on, by symbol."""

    link: int
    name: str
    joint: str
    type: str
    parent: str
    rates: tuple[str, ...]  # names of the joint's own entries of dq and tau
    terms: Mapping[str, Term]

    def __getitem__(self, symbol: str) -> Term:
        return find(self.terms, symbol, "quantity", self.name)


@dataclass(frozen=True, eq=False)
class Explanation:
    """The outward and inward pass as data, link by link, and where the joint forces go.

    `explanation["link2"]["V"]["parent"]` is what the twist of link2 got from its parent. Printed,
    it is a table; `text`, `markdown`, `latex` and `html` give the same in other forms.
    """

    model: Model
    formulation: str
    links: tuple[LinkSteps, ...]
    torque: Torque
    recursion: Recursion
    arguments: Mapping[str, Any]  # q, dq, ddq, F_ext, F_tip, V_base, dV_base as they were given

    @property
    def tau(self) -> Array:
        """Joint forces, (n,)."""
        return self.torque.tau

    def __getitem__(self, link: str | int) -> LinkSteps:
        if isinstance(link, int):
            return self.links[link]
        return find({steps.name: steps for steps in self.links}, link, "link", self.model.name)

    def map(self, function: Callable[[Any], Any]) -> "Explanation":
        """The same with `function` applied to every number or symbol, e.g. `sympy.simplify`.

        `recursion` stays as the algorithm left it.
        """

        def changed(x: Array) -> Array:
            flat = np.empty(np.size(x), object)
            flat[:] = [function(entry) for entry in np.ravel(x)]
            return np.array(flat.tolist() if is_numeric(x) else flat).reshape(np.shape(x))

        def term(old: Term) -> Term:
            parts = tuple(replace(part, value=changed(part.value)) for part in old.parts)
            return replace(old, parts=parts, value=changed(old.value))

        links = tuple(
            replace(steps, terms={symbol: term(old) for symbol, old in steps.terms.items()})
            for steps in self.links
        )
        shares = {name: changed(x) for name, x in self.torque.shares.items()}
        torque = replace(self.torque, shares=shares, tau=changed(self.torque.tau))
        return replace(self, links=links, torque=torque)

    def simplified(self) -> "Explanation":
        """A symbolic explanation in exact numbers and in its shortest form; needs SymPy."""
        from kinetree.explain.simplify import simplified

        return simplified(self)

    def text(self, width: int = 100) -> str:
        """Tables for a terminal of that width, without colours."""
        from kinetree.explain.terminal import plain_text

        return plain_text(self, width)

    def markdown(self) -> str:
        """Headings and tables in Markdown."""
        from kinetree.explain.markdown import markdown

        return markdown(self)

    def latex(self) -> str:
        """Headings and tables in LaTeX, to be input into a document; no packages are needed."""
        from kinetree.explain.latex import latex

        return latex(self)

    def html(self) -> str:
        """A piece of HTML with its own style."""
        from kinetree.explain.html import html

        return html(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        size = counted(len(self.links), "link")
        return f"<Explanation of {self.model.name}, {self.formulation}, {size}>"

    def __rich__(self) -> Any:
        from kinetree.explain.terminal import Screen

        return Screen(self)

    def _repr_html_(self) -> str:
        return self.html()
