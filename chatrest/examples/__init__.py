"""Programs to start from: `python -m chatrest.examples.NAME`."""
