"""What a caller or a file may say, and in which order it counts."""
