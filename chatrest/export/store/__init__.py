"""The store of an export: a journal, open segments, sealed files. Its README has its ideas."""

from .adoption import repair, salvage
from .export_store import ExportStore, NewRows
from .formats import RowKind
from .sealer import Changes
from .stored_files import Difference

__all__ = ["Changes", "Difference", "ExportStore", "NewRows", "RowKind", "repair", "salvage"]
