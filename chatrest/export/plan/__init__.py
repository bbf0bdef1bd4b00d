"""The plan of an export, the ownership of messages, ids, names of files, and the numbers of a run."""
