"""The jobs of an experiment: how many there are, what finished ones took, what others will."""
