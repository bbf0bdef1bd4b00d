"""Exports: copy messages to files, continue after any interruption, and check that nothing is missing.

```python
from chatrest.export import Plan, export

report = await export(session, "out", Plan(all_users=True))
assert report.complete
```
"""

from .dataset.attachments import AttachmentOptions
from .plan import Plan
from .progress import Progress
from .report import AttachmentCounts, Failure, Report
from .start import export
from .verify.verify import verify
from .verify.verify_result import Problem, VerifyResult

__all__ = [
    "AttachmentCounts",
    "AttachmentOptions",
    "Failure",
    "Plan",
    "Problem",
    "Progress",
    "Report",
    "VerifyResult",
    "export",
    "verify",
]
