"""Fan-out: a worker for each of many items, with bounded concurrency and an outcome for each."""
