"""Scripted weather: faults that strike requests, and the triggers that decide when.

from chatrest.emulator.weather import First, Latency, Status
"""

from ..service.context import ServiceRequest as Request
from .connection import CloseIdle, ConnectionFault, Cut, Drip, HalfOpen, LostReply, Reset, WrongLength
from .faults import (
    BadGzip,
    Change,
    Fault,
    Gzip,
    GzipBomb,
    IgnoredActingUser,
    Latency,
    Outgoing,
    Redirect,
    Skew,
    Status,
    StatusFault,
    TooManyRequests,
)
from .list_habits import (
    CappedPages,
    ExclusiveFrom,
    IgnoredParameter,
    ListHabit,
    NoMeta,
    OddRecords,
    TopLevelPositions,
    WrongTotals,
)
from .positions import CursorCycles, CursorMovesBack, CursorRepeats, EmptyPage, LostPosition
from .script import Weather, storm
from .triggers import ALWAYS, Always, Between, Chance, Every, First, When

__all__ = [
    "ALWAYS", "Always", "BadGzip", "Between", "CappedPages", "Chance", "Change", "CloseIdle",
    "ConnectionFault", "CursorCycles", "CursorMovesBack", "CursorRepeats", "Cut", "Drip", "EmptyPage",
    "Every", "ExclusiveFrom", "Fault", "First", "Gzip", "GzipBomb", "HalfOpen", "IgnoredActingUser",
    "IgnoredParameter", "Latency", "ListHabit", "LostPosition", "LostReply", "NoMeta", "OddRecords",
    "Outgoing", "Redirect", "Request", "Reset", "Skew", "Status", "StatusFault", "TooManyRequests",
    "TopLevelPositions", "Weather", "When", "WrongLength", "WrongTotals", "storm",
]  # fmt: skip
