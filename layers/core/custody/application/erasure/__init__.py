"""Hidden at once, then carried to every place that holds a copy, and proven."""
