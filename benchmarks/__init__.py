"""What chatrest costs, as ratios measured side by side in one run.

    pip install "chatrest[bench]"
    python -m benchmarks.decode         # a page's bytes into typed messages, against other decoders
    python -m benchmarks.walk           # a typed walk over loopback HTTP, against hand-written clients
    python -m benchmarks.export         # an export, against receiving alone, against dlt, and in memory
    python -m benchmarks.overhead       # a call through the whole engine, against aiohttp by hand
    python -m benchmarks.import_time    # `import chatrest`, against `import aiohttp`
    python -m benchmarks.pace           # rate limits, fairness and bulkheads, in real time

`--help` shows the sizes. `pace` runs on the wall's clock, for a minute and a half; `export` takes as long;
what that compares with is in an extra of its own, `chatrest[compare]`. All but `pace` count CPU time of the
measured process, never the wall's: a busy machine changes the seconds, and the ratios little. The contestants
take turns in random order within every round; what is shown are medians over the rounds, and a ratio is the
median of the rounds' own ratios, so that a machine that slows down midway favours nobody.
"""
