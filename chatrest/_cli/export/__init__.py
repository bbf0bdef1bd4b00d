"""`export`, and the commands that read an export."""
