"""The main job on real parts, from nothing to nothing: ``python -m custody_cli.demo``."""
