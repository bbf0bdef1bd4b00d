"""Facts and decisions: no await, no clock, no dice, no socket."""
