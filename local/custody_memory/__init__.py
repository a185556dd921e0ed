"""Every port in memory, for tests and benchmarks. Not part of what is deployed."""
