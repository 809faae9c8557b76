"""One run, from any command or from Python: its context, streams and metrics, and how the metrics are built."""
