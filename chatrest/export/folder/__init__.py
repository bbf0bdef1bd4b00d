"""The folder of an export while it is written: its journal, what may be opened, and the commit."""
