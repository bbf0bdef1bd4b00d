"""Scripted weather: faults that strike requests, and the triggers that decide when.

from chatrest.emulator.weather import First, Latency, Status
"""

from ..service.request import Request
from .acting_users import IgnoredActingUser
from .compression import BadGzip, Gzip, GzipBomb
from .connection_faults import CloseIdle, Cut, Drip, HalfOpen, Line, LostReply, Reset, WrongLength
from .cursor_faults import CursorCycles, CursorMovesBack, CursorRepeats, EmptyPage
from .faults import Change, Fault, Latency, Outgoing, Redirect, Skew, Status, StatusFault, TooManyRequests
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
    "IgnoredActingUser",
    "IgnoredParameter",
    "Latency",
    "Line",
    "ListHabit",
    "LostPosition",
    "LostReply",
    "NoMeta",
    "OddRecords",
    "Outgoing",
    "Redirect",
    "Request",
    "Reset",
    "Skew",
    "Status",
    "StatusFault",
    "TooManyRequests",
    "TopLevelPositions",
    "Weather",
    "When",
    "WrongLength",
    "WrongTotals",
    "storm",
]
