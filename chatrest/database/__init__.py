"""Databases that are made of an export: `load` brings one to the export as it is now.

They can be removed at any time, and loaded again: the export has all that is in them.
"""

from .load import Deleted as Deleted, LoadReport as LoadReport, load as load
