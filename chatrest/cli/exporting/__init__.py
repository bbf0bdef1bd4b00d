"""Output of `export`: `snapshot` computes, `format` makes texts, `terminal` draws, `display` updates."""
