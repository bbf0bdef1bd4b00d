"""What chatrest costs, as ratios measured side by side in one run.

    pip install "chatrest[bench]"
    python -m benchmarks.decode         # a page's bytes into typed messages, against other decoders
    python -m benchmarks.walk           # a typed walk over loopback HTTP, against hand-written clients
    python -m benchmarks.import_time    # `import chatrest`, against `import aiohttp`

`--help` shows the sizes. Each prints one table. Counted is CPU time of the measured process, never the
wall's: a busy machine changes the seconds, and the ratios little. The contestants take turns in random
order within every round; what is shown are medians over the rounds, and a ratio is the median of the
rounds' own ratios, so that a machine that slows down midway favours nobody.
"""
