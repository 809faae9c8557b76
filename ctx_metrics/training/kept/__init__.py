"""What trainings keep on disk of texts."""
