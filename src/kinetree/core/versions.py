"""The version of kinetree.

It stands here alone: the build reads it from this file; `kinetree.__version__`, exported code,
studies and the workbench read it from this module.
"""

__version__ = "0.2.0"
