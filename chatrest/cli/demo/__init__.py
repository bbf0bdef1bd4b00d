"""`demo`: all of chatrest at once, against an emulator of its own. `command` tells the story."""
