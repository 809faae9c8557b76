"""Any metric with the outputs of the run's other systems as references (the idea of Yoshimura et al. 2019)."""
