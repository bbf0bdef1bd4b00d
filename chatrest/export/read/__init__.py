"""Read an export back: messages, tables, changes, runs."""
