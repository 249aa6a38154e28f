"""The page of an explanation, in which the joint forces unfold."""

from kinetree.core.text import counted
from kinetree.explain import Explanation
from kinetree.explain.tables import TITLE, own_style
from kinetree.present.tables import escape
from kinetree.views.page.document import document


def explain_page(explanation: Explanation) -> str:
    """The page, self-contained: it fetches nothing.

    Args:
        explanation: of numbers or symbols; symbols do not unfold.
    """
    model = explanation.model
    size = f"{counted(len(model.links), 'moving link')}, {counted(model.n, 'degree')} of freedom"
    body = (
        f'<main><h1>{escape(model.name)}: {TITLE}</h1><p class="lead">{escape(size)}.</p>'
        f'<div class="kinetree">{explanation.markup()}</div></main>'
    )
    title = f"{model.name}, explained"
    return document(title, body, {}, (), own_style=own_style(), formulas=True)
