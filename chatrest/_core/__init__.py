"""The ground floor of the client: facts and decisions, without clock, socket or loop."""
