"""A run of an export, of one app or of many, and the dry run."""
