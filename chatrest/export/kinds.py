"""What an export's store holds, by its plan: messages, the history of edits, tables; each with a format."""

from importlib.util import find_spec

from ..errors import RequestInvalidError
from ..extras import missing_extra
from .dataset.tables import COLUMNS, table_format, table_stem
from .file_names import HISTORY, STEM
from .plan import Plan
from .store import RowKind
from .store.converters import Database, Lines, Parquet
from .store.formats import Format


def format_of_plan(plan: Plan, app_id: str) -> Format:
    """Return the format of a plan's messages; `RequestInvalidError` where what it needs is not installed."""
    match plan.format:
        case "ndjson":
            return Lines(plan.compress or "none")
        case "parquet":
            if find_spec("pyarrow") is None:
                raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet"))
            return Parquet(plan.compress or "zstd")
        case "sqlite":
            return Database({"app": app_id, "plan": plan.encoded().decode()})


def kinds_of_plan(plan: Plan, app_id: str) -> dict[str, RowKind]:
    """Return the kinds of rows that an export's store holds."""
    own = format_of_plan(plan, app_id)
    versions = own if isinstance(own, Lines) else Lines("none")
    messages = {STEM: RowKind(own), HISTORY: RowKind(versions, by_content=True)}
    formats = {table_stem(table): table_format(table, plan.format, plan.compress) for table in COLUMNS}
    return messages | {stem: RowKind(each, is_snapshot=True) for stem, each in formats.items()}
