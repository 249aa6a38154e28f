"""Core of simulations: laws and forces, fixed and adaptive steps, events, limits and records."""
