"""The cache on disk: object code and graphs, so that a known robot is not compiled again."""
