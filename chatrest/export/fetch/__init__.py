"""What a run of an export asks the service for: lists, in pieces."""
