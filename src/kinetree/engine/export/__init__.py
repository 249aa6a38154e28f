"""Write quantities of a robot as source code in other languages, from the graphs of the kernels."""

from kinetree.engine.export.code import ExportedCode
from kinetree.engine.export.export import LANGUAGES, export

__all__ = ["LANGUAGES", "ExportedCode", "export"]
