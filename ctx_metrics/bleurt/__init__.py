"""BLEURT (Sellam et al. 2020, Pu et al. 2021): RemBERT models that score a hypothesis against a reference."""
