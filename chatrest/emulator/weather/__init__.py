"""Scripted weather: faults that strike requests, and the triggers that decide when."""
