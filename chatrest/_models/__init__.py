"""The records that the service sends: a file per noun."""
