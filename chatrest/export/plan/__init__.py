"""What an export holds: its plan, whose message is whose, ids, names of files, and the numbers of a run."""
