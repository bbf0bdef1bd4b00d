"""Walks over a list: page by page, ahead, or followed."""
