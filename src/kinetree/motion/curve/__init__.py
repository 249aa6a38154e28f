"""Motion between samples: polynomials of plans, splines, and what samples imply."""
