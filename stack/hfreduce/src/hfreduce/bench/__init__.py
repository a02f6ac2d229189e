"""HFReduce against Gloo and MPI, in one run: `python -m hfreduce.bench`."""
