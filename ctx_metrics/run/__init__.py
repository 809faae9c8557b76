"""One run, whoever asks for it: what it knows, its streams, its metrics, and how a metric is made of them."""
