"""`export --with` and `import`: the copy of an app from the command line."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from chatrest.cli.root import root

from .conftest import EmulatorThread, error_line


def run(emulator: EmulatorThread, *args: object) -> Result:
    return CliRunner().invoke(root, [*map(str, args)], env=emulator.env)


def test_an_app_is_copied_and_what_is_not_carried_over_is_listed(
    service: EmulatorThread, fresh: EmulatorThread, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    exported = run(service, "export", out, "--group", "group-01", "--with", "users,groups,members", "--quiet")
    assert exported.exit_code == 0
    checked = run(fresh, "import", out, "--dry-run")
    assert checked.exit_code == 0
    first, *_ = checked.stdout.splitlines()
    assert first == "out/users: 6 users can be imported"
    copied = run(fresh, "import", out)
    assert (copied.exit_code, copied.stderr) == (0, "")
    assert "\nnot carried over:\n  " in copied.stdout
    assert (tmp_path / "out.import-journal").exists()
    omissions = json.loads(run(fresh, "import", out, "--json").stdout)["not_carried"]
    lines = [f"  {each['count']:,} {each['what']}" for each in omissions]
    assert copied.stdout.splitlines()[-len(lines) :] == lines


def test_an_export_that_is_not_complete_needs_an_option(
    service: EmulatorThread, fresh: EmulatorThread, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert run(service, "export", out, "--group", "nobody", "--quiet").exit_code == 1
    refused = run(fresh, "import", out)
    assert "is not complete (group nobody: " in error_line(refused, 2)
    assert run(fresh, "import", out, "--incomplete", "--quiet").exit_code == 0
