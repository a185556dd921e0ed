"""What a signature covers and how it is proven: digests, trees, statements, envelopes."""
