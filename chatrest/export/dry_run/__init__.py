"""The dry run: how much an export would be, and about how long it would take."""
