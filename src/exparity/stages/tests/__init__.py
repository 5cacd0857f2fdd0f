"""The tests of scores: between groups, over trainings, of random explanations, at equal class."""
