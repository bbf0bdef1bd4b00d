"""Exports: copy messages to files, continue after any interruption, and check that nothing is missing.

```python
from chatrest.export import Plan, export

report = await export(session, "out", Plan(all_users=True))
assert report.complete
```
"""

from .plan import Plan
from .progress import Progress
from .report import Failure, Report
from .start import export
from .verifying.verdict import Problem, Verdict
from .verifying.verify import verify

__all__ = ["Failure", "Plan", "Problem", "Progress", "Report", "Verdict", "export", "verify"]
