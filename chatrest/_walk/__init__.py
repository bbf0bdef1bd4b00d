"""Walks over a list: page by page, ahead, followed, merged, or split among several readers."""
