"""Where objects lie and how chunks are written there."""
