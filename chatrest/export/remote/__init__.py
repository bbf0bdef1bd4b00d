"""Exports in object stores: `s3://bucket/prefix` in the place of a folder."""
