"""Many machines: exports and fan-outs on a Dask cluster, at one rate for all of its workers."""
