"""One module for each real thing behind a port."""
