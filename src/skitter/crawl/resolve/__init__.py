"""Pages asked for by URL: looked up in the page index, or fetched before everything else."""
