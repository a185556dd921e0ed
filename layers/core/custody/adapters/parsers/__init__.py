"""Documents of every supported type to text: the ``Parser`` port is ``format_parser``.

Bytes are read in a child process (``worker``), which begins by importing this package: nothing is
imported here, so that the child loads no more than it needs.
"""
