"""Closed forms as SymPy objects that also print themselves as LaTeX, text and MathML."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from kinetree.core.arrays import Array
from kinetree.present.mathml import from_latex
from kinetree.symbols.parameters import latex_names
from kinetree.symbols.ring import Expression

if TYPE_CHECKING:
    from sympy import ImmutableDenseMatrix, ImmutableDenseNDimArray

# columns, whose entries have one index
VECTORS = ("c", "g", "friction", "springs", "tau", "c_r", "g_r", "h_r", "Phi", "gamma")


def to_latex(x: Expression, digits: int | None = None) -> str:
    """LaTeX of any SymPy object, with subscripts and without needless brackets around angles."""
    from sympy import latex

    x = rounded(x, digits)
    names = latex_names(x.free_symbols)
    return latex(x, symbol_names=names, mat_delim="[", fold_func_brackets=True)


def to_text(x: Expression, digits: int | None = None) -> str:
    """One line of plain text."""
    from sympy import sstr

    return str(sstr(rounded(x, digits), full_prec=False))  # no zeros at the end


def to_mathml(x: Expression, digits: int | None = None) -> str:
    """Presentation MathML for browsers: a whole <math> element.

    It is made of the LaTeX, because SymPy's MathML has no dots over letters and lets brackets and
    products be spaced by the browser.
    """
    element = from_latex(to_latex(x, digits), display=True)
    return element.replace("<math", '<math xmlns="http://www.w3.org/1998/Math/MathML"', 1)


def rounded(x: Expression, digits: int | None) -> Expression:
    """Fractions as decimals with that many digits; whole numbers and exponents as they are."""
    from sympy import Float, Rational, sympify

    x = sympify(x)
    if digits is None:
        return x
    fractions = {y: Float(y, digits) for y in x.atoms(Rational) if not y.is_Integer}
    return x.xreplace(fractions)


class Printed:
    """What closed forms add to SymPy's objects: a name and three ways to print."""

    name: str = ""

    def latex(self, digits: int | None = None) -> str:
        """LaTeX; with `digits`, fractions as decimals."""
        return to_latex(self, digits)

    def text(self, digits: int | None = None) -> str:
        """A line for every entry that is not zero; indices begin with 1, as in the book."""
        return "\n".join(
            f"{self.name}[{', '.join(map(str, index))}] = {to_text(entry, digits)}"
            for index, entry in self._numbered()
            if entry != 0
        )

    def mathml(self, digits: int | None = None) -> str:
        """Presentation MathML."""
        return to_mathml(self, digits)

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    def _numbered(self) -> Iterator[tuple[list[int], Expression]]:
        shape = tuple(int(n) for n in self.shape)  # type: ignore[attr-defined]
        for index in product(*(range(n) for n in shape)):
            vector = self.name in VECTORS
            yield [k + 1 for k in (index[:1] if vector else index)], self[index]  # type: ignore[index]


def _operator(name: str) -> Any:
    """An operator of a `Formula`: that of its expression."""

    def apply(self: "Formula", *others: Expression) -> Expression:
        from sympy import sympify

        return getattr(self.expr, name)(*map(sympify, others))

    return apply


class Formula(Printed):
    """A closed form with a name; SymPy and its operators take it as the expression `expr`."""

    def __init__(self, name: str, expr: Expression) -> None:
        self.name = name
        self.expr = expr

    def _sympy_(self) -> Expression:
        return self.expr

    def text(self, digits: int | None = None) -> str:
        """Plain text, such as `K = m1*theta1_dot**2/2`."""
        return f"{self.name} = {to_text(self.expr, digits)}"

    def __getattr__(self, name: str) -> Any:  # attributes of SymPy expressions
        if name.startswith("__") or name == "expr":
            raise AttributeError(name)
        return getattr(self.expr, name)

    __add__, __radd__ = _operator("__add__"), _operator("__radd__")
    __sub__, __rsub__ = _operator("__sub__"), _operator("__rsub__")
    __mul__, __rmul__ = _operator("__mul__"), _operator("__rmul__")
    __truediv__, __neg__ = _operator("__truediv__"), _operator("__neg__")

    def __eq__(self, other: object) -> bool:
        return self.expr == (other.expr if isinstance(other, Formula) else other)

    def __hash__(self) -> int:
        return hash(self.expr)

    def __repr__(self) -> str:
        return str(self.expr)


@cache
def _classes() -> tuple[type[Any], type[Any]]:
    """The classes of named matrices and arrays, made when SymPy is needed."""
    from sympy import ImmutableDenseMatrix, ImmutableDenseNDimArray

    class Matrix(Printed, ImmutableDenseMatrix):
        """An immutable SymPy matrix that prints itself."""

    class NamedArray(Printed, ImmutableDenseNDimArray):
        """An immutable SymPy array of any rank that prints itself."""

    return Matrix, NamedArray


def matrix(
    name: str, rows: int, columns: int, entries: Sequence[Expression]
) -> "ImmutableDenseMatrix":
    """A SymPy matrix with a name, from its entries row by row."""
    named = _classes()[0](rows, columns, entries)
    named.name = name
    return named


def named_array(name: str, entries: Sequence[Expression] | Array) -> "ImmutableDenseNDimArray":
    """A SymPy array of any rank with a name, from nested lists or an array."""
    named = _classes()[1](entries)
    named.name = name
    return named
