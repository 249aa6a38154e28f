"""Tables of joints -> records: screw axes, Denavit-Hartenberg parameters, points and axes."""
