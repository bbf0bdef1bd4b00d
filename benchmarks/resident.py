"""The largest resident size of this process. Imports nothing that would add to it."""

import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage


def resident() -> float:
    """Return the largest resident size of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage may return the size of the parent process
        words = status.read_text().partition("VmHWM:")[2].split()
        return int(words[0]) / 1e3
    return getrusage(RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
