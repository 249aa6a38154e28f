"""How fast kinetree is beside its peers; `python -m benchmarks.run` writes a dated record."""
