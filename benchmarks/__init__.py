"""Benchmarks of kinetree and other libraries; `python -m benchmarks.run` writes a dated record."""
