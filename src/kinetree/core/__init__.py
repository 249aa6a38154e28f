"""Checked arrays, tables and numbers as text, and progress bars, for every other folder."""
