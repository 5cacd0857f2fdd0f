"""Group statistics: is a metric's distribution the same for every group?"""
