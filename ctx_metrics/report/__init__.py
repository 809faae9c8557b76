"""A page for exploring scores: which systems differ, which segments and documents are weak, and why."""
