"""Make machine code quickly in the Python programs that tests start, as in the tests themselves.

Python imports a module of this name when it starts, if its folder is on PYTHONPATH. The fixture
`quick_machine_code` of tests/conftest.py sets that and KINETREE_TESTS_QUICK, the number of lines
of IR up to which the code generator makes no effort. The modules are changed when a program
imports them: a program that needs no kernel starts as usual.
"""

import os
import sys

LIMIT = os.environ.get("KINETREE_TESTS_QUICK")


def quick_engine(engine):
    """Make no effort with short modules."""
    usual = engine.level
    engine.level = lambda text: 0 if text.count("\n") < int(LIMIT) else usual(text)


def quick_cache(cache):
    """Do not list all files of the cache at every new entry to watch its size."""
    cache.shrink = lambda *given: None


CHANGES = {
    "kinetree.engine.llvm.engine": quick_engine,
    "kinetree.engine.cache": quick_cache,
}


class Finder:
    """Finds the modules of CHANGES as usual and changes them once they are imported."""

    def __init__(self):
        self.busy = False

    def find_spec(self, name, path=None, target=None):
        """Spec of a module of CHANGES; None for others, which are found by the usual finders."""
        if name not in CHANGES or self.busy:
            return None
        from importlib.util import find_spec

        self.busy = True
        try:
            spec = find_spec(name)
        finally:
            self.busy = False
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                CHANGES[name](module)

            spec.loader.exec_module = exec_module
        return spec


if LIMIT:
    sys.meta_path.insert(0, Finder())
