"""Filters of lists and bodies of requests, one module for each collection."""
