"""Checked arrays, optional packages, and tables as text: what every other folder stands on."""
