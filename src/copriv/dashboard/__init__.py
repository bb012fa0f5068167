"""Pages to look at: a study as it runs, an owner's own house, and what would be if. They only read, but for a pause."""
