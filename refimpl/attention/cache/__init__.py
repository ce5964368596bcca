"""What attention remembers of the past while decoding."""
