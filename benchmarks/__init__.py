"""Benchmarks: the cost of chatrest as ratios, measured side by side in one run.

    pip install '.[compare]'            # or '.[bench]', without the comparison with dlt
    python -m benchmarks                # those of the table RESULTS.md, in short
    python -m benchmarks.decode         # decoding a page into typed messages, against other decoders
    python -m benchmarks.instructions   # a call, a page, a walk: instructions above hand-written aiohttp
    python -m benchmarks.ahead          # a walk that is read ahead, against one without, in wall and CPU time
    python -m benchmarks.export         # an export, against the least code that writes, and against dlt
    python -m benchmarks.fan_out        # a page for each of many users, against a hand-written semaphore loop
    python -m benchmarks.memory         # the memory of each use, in a process of its own
    python -m benchmarks.import_time    # `import chatrest`, against `import aiohttp`
    python -m benchmarks.pace           # the use of rate limits of every kind, in virtual time
    python -m benchmarks.scale          # the use of a limit by a cluster, in real time
    python -m benchmarks.database       # the load of an export into SQLite or Postgres, in time and memory
    python -m benchmarks.site           # the pages of an export with their index, in time and memory
    python -m benchmarks.waits          # fairness between lanes, bulkheads of regions and apps, in real time
    python -m benchmarks.kills          # no time: exports that die at every instant, not at one of a few

`--help` shows the sizes, and `--short` takes those of the common table. `registry` has the names of that
table: each is a module with `compare(short) -> list[Comparison]`, mostly that of a `measure.Benchmark`.

`pace` runs in virtual time: its figures do not depend on the machine. `instructions` counts
those of the processor. `waits`, `scale` and a part of `ahead` measure wall clock time. All others measure CPU
time or memory of the measured process: a busy machine changes the seconds, but hardly the ratios. The
contestants run in random order in every round. The tables show medians over the rounds; a ratio is the median
of the ratios of each round, so a machine that slows down during a run favours no contestant.
"""
