"""From a document or a drop to a live version."""
