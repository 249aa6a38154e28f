"""Pages: one HTML file with all it needs inside, safe to open and to send on."""
