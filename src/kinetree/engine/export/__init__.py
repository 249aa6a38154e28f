"""Write quantities of a robot as source code in other languages, from the graphs of the kernels."""

from kinetree.engine.export.export import LANGUAGES, export
from kinetree.engine.export.firmware import CodeFigures, ExportedCode
from kinetree.engine.export.targets import TARGETS

__all__ = ["LANGUAGES", "TARGETS", "CodeFigures", "ExportedCode", "export"]
