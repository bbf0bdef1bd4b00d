"""Exports: copy messages to files, continue after any interruption, and check that nothing is missing.

```python
from chatrest.export import Plan, export, read

report = await export(session, "out", Plan(all_users=True))
report.check()  # raises where it is not complete
for message in read("out", since="2026-11-01"):
    print(message.sender, message.data)
```
"""

from .dataset.attachments import AttachmentOptions
from .folder.run_log import RunEntry
from .plan.app_file import AppExport, read_apps
from .plan.export_plan import Plan
from .plan.report import AttachmentCounts, ExportFailure, NextRun, Phase, Progress, Report
from .read.changes import ExportChange, ExportChanges, changes
from .read.reading import attachment_files, read, read_raw, read_table, runs
from .run.dry_run import Estimate, estimate
from .run.export import AppResult, export, export_apps
from .seal.sealing import SealResult, seal
from .verify.result import Problem, Remedy, VerifyResult
from .verify.verification import verify

__all__ = [
    "AppExport", "AppResult", "AttachmentCounts", "AttachmentOptions", "Estimate",
    "ExportChange", "ExportChanges", "ExportFailure", "NextRun", "Phase", "Plan", "Problem", "Progress",
    "Remedy", "Report", "RunEntry", "SealResult", "VerifyResult", "attachment_files", "changes", "estimate",
    "export", "export_apps", "read", "read_apps", "read_raw", "read_table", "runs", "seal", "verify",
]  # fmt: skip
