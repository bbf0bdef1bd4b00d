"""Scripted weather: faults that strike some requests, and when they strike.

from chatrest.emulator.weather import First, Latency, Status
"""

from ..service.request import Request
from .compression import BadGzip, Gzip, GzipBomb
from .connection_faults import CloseIdle, Cut, Drip, HalfOpen, Line, Reset, Unanswered, WrongLength
from .cursor_faults import CursorCycles, CursorMovesBack, CursorRepeats, EmptyPage
from .faults import Change, Fault, Instead, Latency, Outgoing, Redirect, Skew, Status, TooManyRequests
from .odd_records import OddRecords
from .script import Weather
from .storm import storm
from .triggers import ALWAYS, Always, Between, Chance, Every, First, When

__all__ = [
    "ALWAYS",
    "Always",
    "BadGzip",
    "Between",
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
    "Fault",
    "First",
    "Gzip",
    "GzipBomb",
    "HalfOpen",
    "Instead",
    "Latency",
    "Line",
    "OddRecords",
    "Outgoing",
    "Redirect",
    "Request",
    "Reset",
    "Skew",
    "Status",
    "TooManyRequests",
    "Unanswered",
    "Weather",
    "When",
    "WrongLength",
    "storm",
]
