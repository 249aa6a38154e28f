"""Figure: charts one below the other, which notebooks show and files keep."""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from kinetree.core.text import counted
from kinetree.errors import InputError, need
from kinetree.present.charts import Chart
from kinetree.present.display import shown_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

VECTOR = (".svg", ".html")  # endings of files that need no package


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """Charts, one below the other. A notebook shows it: move over it for values, drag to zoom.

    Args:
        title: of the figure.
        charts: from top to bottom.
        notes: sentences below the figure.
    """

    title: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the figure; the ending of the name chooses the format.

        Args:
            path: file to write: .svg and .html need no other package; .png, .pdf and others are
                drawn by matplotlib (extra `plot`).
        """
        ending, folder = Path(fspath(path)).suffix.lower(), Path(fspath(path)).parent
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}, where {fspath(path)} is to be written.")
        if ending not in VECTOR:
            drawn = self.matplotlib()
            known = [f".{x}" for x in sorted(drawn.canvas.get_supported_filetypes())]
            if ending and ending not in known:
                raise InputError(
                    f"a figure is to be written as {fspath(path)}; expected a name ending with "
                    f"{', '.join(dict.fromkeys([*VECTOR, *known]))}."
                )
            drawn.savefig(path, dpi=130)
            return
        text = self.svg() if ending == ".svg" else self.html()
        Path(path).write_text(text, encoding="utf-8", newline="\n")

    def svg(self) -> str:
        """The figure as the text of an SVG file, in the colours of a light or a dark screen."""
        from kinetree.present.chart_svg import figure_svg  # not needed to import kinetree

        return figure_svg(self.title, self.charts, self.notes)

    def html(self) -> str:
        """The figure as a self-contained page, with values at the cursor and zoom."""
        return shown_html("figure_page", self)

    def matplotlib(self) -> "MatplotlibFigure":
        """The figure drawn by matplotlib, to be changed or combined; needs the extra `plot`."""
        from kinetree.present.chart_matplotlib import matplotlib_figure

        return matplotlib_figure(self.title, self.charts)

    def show(self) -> None:
        """Open the figure in a window of matplotlib; needs the extra `plot` and a screen."""
        from kinetree.present.chart_matplotlib import matplotlib_figure

        matplotlib_figure(self.title, self.charts, window=True)
        need("matplotlib.pyplot", "plot", "a plot").show()

    def _repr_html_(self) -> str:
        return shown_html("figure", self)

    def __repr__(self) -> str:
        panels = ", ".join(chart.title for chart in self.charts)
        return f"Figure({self.title!r}, {counted(len(self.charts), 'chart')}: {panels})"
