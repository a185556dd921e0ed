"""The rules by which the ledger decides: access, sources, drops, erasures, transitions."""
