"""The parts of a walk: how its pages are fetched, read ahead and followed."""
