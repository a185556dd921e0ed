"""From a question to verified evidence, an answer, and its replay."""
