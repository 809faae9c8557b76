"""The values of all pairs of some texts by a metric, for choosing among candidates and for comparing systems."""
