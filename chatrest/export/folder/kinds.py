"""What an export's store holds, by its plan: messages, the history of edits, tables; each with a format."""

from importlib.util import find_spec

from ..._extras import missing_extra
from ...errors import RequestInvalidError
from ..plan.file_names import HISTORY, STEM
from ..plan.plan import Plan
from ..store import RowKind
from ..store.converters import Lines, Parquet
from ..store.formats import Format
from .tables import ATTACHMENTS, TABLES, table_stem


def format_of_plan(plan: Plan) -> Format:
    """Return the format of a plan's messages; `RequestInvalidError` where what it needs is not installed."""
    match plan.format:
        case "ndjson":
            return Lines(plan.compress or "none")
        case "parquet":
            if find_spec("pyarrow") is None:
                raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet"))
            return Parquet(plan.compress or "zstd")


def kinds_of_plan(plan: Plan) -> dict[str, RowKind]:
    """Return the kinds of rows that an export's store holds: all but messages are lines in every format."""
    own = format_of_plan(plan)
    lines = own if isinstance(own, Lines) else Lines("none")
    messages = {STEM: RowKind(own), HISTORY: RowKind(lines, by_content=True)}
    return messages | {
        table_stem(table): RowKind(lines, is_snapshot=True) for table in (*TABLES, ATTACHMENTS)
    }
