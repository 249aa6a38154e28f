"""The workbench in a real browser (its facts follow with the page)."""
