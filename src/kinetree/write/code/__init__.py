"""Write quantities of a robot as source code in other languages, from the graphs of the kernels."""

from kinetree.write.code.export import LANGUAGES, export
from kinetree.write.code.firmware import CodeFigures, ExportedCode
from kinetree.write.code.targets import TARGETS

__all__ = ["LANGUAGES", "TARGETS", "CodeFigures", "ExportedCode", "export"]
