"""The options of `export`: the plan that they make, and invalid values."""

from pathlib import Path

import click
import pytest

from chatrest._cli.export import command as command_module
from chatrest._cli.export.command import WORKERS, export
from chatrest.export import Plan
from chatrest.export.fetch import worker_pool
from chatrest.export.plan import plan as plans
from tests.cases import loop_over
from tests.commands import Run

from ..conftest import error_line

pytestmark = pytest.mark.usefixtures("called")


def planned(*args: str) -> Plan | None:
    """Return the plan that `args` make."""
    given = export.make_context("export", ["out", *args], help_option_names=["-h", "--help"]).params
    return command_module._plan_of(given)


def test_the_choices_are_those_of_a_plan() -> None:
    options = {param.name: param for param in export.params}
    for name, choices in (
        ("format_", plans.FORMATS),
        ("compress", plans.COMPRESS),
        ("partition", plans.PARTITIONS),
    ):
        choice = options[name].type
        assert isinstance(choice, click.Choice)
        assert tuple(choice.choices) == choices
    assert worker_pool.WORKERS == WORKERS


@loop_over(
    ("args", "plan"),
    [
        ([], None),
        (["--all-users"], Plan(all_users=True)),
        (["--user", "a", "--user", "b"], Plan(users=["a", "b"])),
        (["--pair", "b", "a", "--pair", "c", "d"], Plan(pairs=[("a", "b"), ("c", "d")])),
        (["--group", "g", "--all-users"], Plan(groups=["g"], all_users=True)),
        (["--everything"], Plan(everything=True)),
        (["--since", "@1000000"], Plan(since=1_000_000)),
        (["--until", "2026-11-01"], Plan(until=1_793_577_599)),
        (["--format", "parquet"], Plan(format="parquet")),
        (["--format", "parquet", "--user", "a"], Plan(format="parquet", users=["a"])),
        (["--compress", "gzip", "--partition", "month"], Plan(compress="gzip", partition="month")),
    ],
)
def test_options_make_a_plan(args: list[str], plan: Plan | None) -> None:
    assert planned(*args) == plan
    assert plan is None or planned(*args, "--workers", "3", "--recheck", "7d", "--quiet", "--dry-run") == plan


@loop_over(
    ("args", "text"),
    [
        (["--journal", "x"], "--journal is for an export in an object store"),
        (["--since", "tomorrow"], "'tomorrow': expected a date such as 2026-01-31, a time"),
        (["--since", "20260101"], "expected '2026-01-01' for the date, or '@20260101' for the timestamp"),
        (["--until", "0001-01-01"], "'--until'"),
        (["--recheck", "7"], "a whole number from 1 to 999,999,999 with s, m, h, d or w, such as 7d"),
        (["--recheck", "1000000000d"], "a whole number from 1 to 999,999,999 with s, m, h, d or w"),
        (["--format", "csv"], "'--format'"),
        (["--workers", "0"], "from 1 to 90"),
        (["--pair", "a"], "requires 2 arguments"),
        (["--pair", "a", "a"], "two different uids"),
        (["--user", ""], "users = ''"),
        (["--everything", "--all-users"], "everything"),
        (["--since", "2026-11-02", "--until", "2026-11-01"], "ends before it begins"),
        (["--format", "sqlite"], "Invalid value for '--format'"),
        (["--types", "text"], "--types"),
        (["--limit", "3"], "--limit"),
        (["--parts", "0"], "'--parts'"),
        (["--claim"], "is not an export of parts"),
        (["--part", "1"], "is not an export of parts"),
        (["--parts", "4", "--part", "4"], "a number from 0 to 3"),
        (["--parts", "4", "--part", "1", "--claim"], "give one of them"),
        (["--parts", "4", "--only", "--user", "a"], "never changes"),
        (["--parts", "4", "--dry-run"], "give it without --parts"),
        ([], "Missing argument 'OUT'"),
    ],
)
def test_an_invalid_value_is_one_error_line_with_status_2_and_creates_nothing(
    command: Run, out: Path, args: list[str], text: str
) -> None:
    assert text in error_line(command("export", *([str(out)] if args else []), *args), 2)
    assert not out.exists()
