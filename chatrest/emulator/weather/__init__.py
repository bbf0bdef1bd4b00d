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
    IgnoredActingUser,
    Latency,
    Outgoing,
    Skew,
    Status,
    StatusFault,
    TooManyRequests,
)
from .script import Weather, storm
from .triggers import ALWAYS, Always, Between, Chance, Every, First, When

__all__ = [
    "ALWAYS", "Always", "BadGzip", "Between", "Chance", "Change", "CloseIdle", "ConnectionFault", "Cut",
    "Drip", "Every", "Fault", "First", "Gzip", "HalfOpen", "IgnoredActingUser", "Latency", "LostReply",
    "Outgoing", "Request", "Reset", "Skew", "Status", "StatusFault", "TooManyRequests", "Weather", "When",
    "WrongLength", "storm",
]  # fmt: skip
