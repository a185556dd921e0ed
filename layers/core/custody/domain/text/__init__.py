"""What is read out of text: terms, questions, media types, hygiene, duplicates."""
