"""Metric interference: outputs that a metric chose are not scored by it, or by a related one, without a notice."""
