"""Output of `export`: `snapshot` computes, `format` makes texts, `terminal` and `log` display them.

`watch` updates the display during a run.
"""
