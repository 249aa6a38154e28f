"""Results as text, HTML, JSON and plots, and arrays with names; nothing of robots."""
