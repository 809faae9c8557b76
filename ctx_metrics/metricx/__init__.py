"""MetricX (Juraska et al. 2023, 2024): mT5 models that predict the MQM errors of a translation, 0 to 25; lower is better."""
