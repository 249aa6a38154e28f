"""Checked arrays, optional packages, and tables and numbers as text, for every other folder."""
