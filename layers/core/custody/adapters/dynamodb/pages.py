"""The secret that positions in listings are sealed with."""

from __future__ import annotations

import secrets

from custody.adapters.dynamodb import codec, layout, rows
from custody.adapters.dynamodb.rows import PageSecret
from custody.adapters.dynamodb.table import OnTrust
from custody.adapters.dynamodb.writes import Row, write
from custody.errors import Unavailable


class DynamoPageSecrets(OnTrust):
    """``PageSecrets``."""

    def page_secret(self) -> bytes:
        stored = rows.load(PageSecret, self._trust.get(layout.page_secret()))
        if stored is None:
            raise Unavailable(
                "No deployment has made the secret of page cursors.", code="policy-unavailable"
            )
        return stored.value.secret

    def make_page_secret(self) -> None:
        """Whoever writes it first wins; it is never changed."""
        key = layout.page_secret()
        if self._trust.get(key) is None:
            write(Row(self._trust, key, codec.dump(PageSecret(secrets.token_bytes(32))), 0))
