"""How a list is walked: positions, cursors, and the step from one page to the next."""
