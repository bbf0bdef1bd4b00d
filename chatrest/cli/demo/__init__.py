"""`demo`: a tour of chatrest against its own emulator, in the order that `command` gives."""
