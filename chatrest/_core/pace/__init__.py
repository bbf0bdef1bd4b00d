"""The time at which a request may be sent, or sent again: `pacer` and `rate_search` for limits, `retry`."""
