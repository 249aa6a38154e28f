"""Pages: self-contained HTML files that are safe to open and to send."""
