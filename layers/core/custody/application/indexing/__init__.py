"""Indices made anew, from canonical chunks and stored vectors, while everything else goes on."""
