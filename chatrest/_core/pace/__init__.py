"""When a request may be sent, or sent again: rate limits, retries, hosts that are down."""
