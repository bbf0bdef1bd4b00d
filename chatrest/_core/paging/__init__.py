"""The walk of a list: positions, order, and the step from one page to the next. Read `step` first."""
