"""Matrix of platforms: the built wheel in many environments, each with the conformance suite.

    make matrix                          all cells, and a record in benchmarks/results
    make matrix CELLS='python-3.1* oldest'   some of them
    make matrix ADD=h200.json            with a report that was made on another machine

The wheel of the working tree is built once. Each cell gets a fresh environment outside of the
repository with this wheel and its dependencies, and runs `python -m kinetree.testing --json` there.
A cell is a Python (of this machine, or of a Debian system that debootstrap makes), versions of the
dependencies (the newest that the index has, or the lowest of pyproject.toml) and a processor
(aarch64 runs through QEMU). Cells that cannot run here are skipped with the reason. The exit code
is 1 if a cell fails, or if two cells compute different bits.

    cells.py    the list of cells; bounds of the dependencies
    roots.py    Debian systems and emulation; they need root
    run.py      the wheel, the environment and the suite of a cell
    record.py   the record, made from the reports of the suite

Everything is kept in build/matrix: the systems (roots, 300 MB each), the wheel, and the last report
of each cell (reports). Systems are reused; delete their folder to get newer packages. Interpreters
of this machine are found on the path and in pyenv.
"""
