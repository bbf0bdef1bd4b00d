"""The sinks, one for each format, and their common parts: growing files, recovery, the history."""
