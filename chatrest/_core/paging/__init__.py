"""The walk of a list: positions, cursors, and the step from one page to the next."""
