"""The requests of an export's run: lists, in pieces."""
