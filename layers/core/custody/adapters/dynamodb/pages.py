"""The secret that positions in listings are sealed with."""

from __future__ import annotations

import secrets

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.calls import Row
from custody.adapters.dynamodb.rows import PageSecret
from custody.adapters.dynamodb.table import OnTable


class DynamoPageSecrets(OnTable):
    """``PageSecrets``."""

    def page_secret(self) -> bytes:
        """Whoever writes it first wins; it is never changed."""
        key = layout.page_secret()
        for _ in self._table.pacing.tries():
            stored = rows.load(PageSecret, self._table.get(key))
            if stored is not None:
                return stored.value.secret
            self._table.write(Row(key, codec.dump(PageSecret(secrets.token_bytes(32))), 0))
        raise self._table.unavailable("contended")
