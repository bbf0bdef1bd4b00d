"""Filters of lists, and bodies of requests, a file a collection."""
