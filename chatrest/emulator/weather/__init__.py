"""Scripted weather: faults that strike requests, and the triggers that decide when.

from chatrest.emulator.weather import First, Latency, Status
"""

from ..service.request import Request
from .compression import BadGzip, Gzip, GzipBomb
from .connection_faults import CloseIdle, Cut, Drip, HalfOpen, Line, Reset, Unanswered, WrongLength
from .cursor_faults import CursorCycles, CursorMovesBack, CursorRepeats, EmptyPage
from .faults import Change, Fault, Instead, Latency, Outgoing, Redirect, Skew, Status, TooManyRequests
from .list_habits import (
    CappedPages,
    ExclusiveFrom,
    IgnoredParameter,
    ListHabit,
    NoMeta,
    TopLevelPositions,
    WrongTotals,
)
from .lost_positions import LostPosition
from .odd_records import OddRecords
from .script import Weather
from .storm import storm
from .triggers import ALWAYS, Always, Between, Chance, Every, First, When

__all__ = [
    "ALWAYS",
    "Always",
    "BadGzip",
    "Between",
    "CappedPages",
    "Chance",
    "Change",
    "CloseIdle",
    "CursorCycles",
    "CursorMovesBack",
    "CursorRepeats",
    "Cut",
    "Drip",
    "EmptyPage",
    "Every",
    "ExclusiveFrom",
    "Fault",
    "First",
    "Gzip",
    "GzipBomb",
    "HalfOpen",
    "IgnoredParameter",
    "Instead",
    "Latency",
    "Line",
    "ListHabit",
    "LostPosition",
    "NoMeta",
    "OddRecords",
    "Outgoing",
    "Redirect",
    "Request",
    "Reset",
    "Skew",
    "Status",
    "TooManyRequests",
    "TopLevelPositions",
    "Unanswered",
    "Weather",
    "When",
    "WrongLength",
    "WrongTotals",
    "storm",
]
