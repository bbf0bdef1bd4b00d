"""The types of the public API, as a type checker sees them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_examples_have_the_types_and_the_errors_that_they_say() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", str(ROOT / "tests" / "typing_examples.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
