"""The calls of governors and auditors: sources, keys, access and policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from custody_client import fields
from custody_client import types as t
from custody_client.calls import Calls
from custody_client.fields import segment


class Governing(Calls):
    """Changes need the scope custody/govern, looking needs it or custody/audit. What is changed
    holds at the service's next read."""

    # --- sources ------------------------------------------------------------------------------

    def put_source(
        self,
        source_id: str,
        *,
        trust_domain: str,
        writers: Sequence[str],
        default_acl: Sequence[str] | None = None,
        max_acl: Sequence[str] | None = None,
        sidecar: str | None = None,
        isolation: str | None = None,
        mirror_deletes: bool | None = None,
        classification: str | None = None,
        licence: str | None = None,
        legal_basis: str | None = None,
        retention_class: str | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.Source:
        """Create or replace a source (scope custody/govern). ACLs are lists of terms."""
        body = fields.given(
            trust_domain=trust_domain,
            writers=list(writers),
            default_acl=fields.acl(default_acl),
            max_acl=fields.acl(max_acl),
            sidecar=sidecar,
            isolation=isolation,
            mirror_deletes=mirror_deletes,
            classification=classification,
            licence=licence,
            legal_basis=legal_basis,
            retention_class=retention_class,
        )
        reply = self._change(
            "PUT", f"/sources/{segment(source_id)}", body, idempotency_key, if_match
        )
        return cast("t.Source", reply)

    def list_sources(self, *, next: str | None = None) -> t.SourcePage:  # noqa: A002 - its name
        reply = self._transport.call("GET", "/sources", params={"next": next})
        return cast("t.SourcePage", reply)

    def quarantine_source(
        self,
        source_id: str,
        reason: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.Source:
        """Serve nothing of a source until ``release_source``. ``reason``: kept with the change."""
        path = f"/sources/{segment(source_id)}/quarantine"
        reply = self._change("POST", path, {"reason": reason}, idempotency_key, if_match)
        return cast("t.Source", reply)

    def release_source(
        self,
        source_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.Source:
        path = f"/sources/{segment(source_id)}/quarantine"
        return cast("t.Source", self._change("DELETE", path, None, idempotency_key, if_match))

    # --- keys ---------------------------------------------------------------------------------

    def keys(self) -> list[t.Key]:
        """By purpose and id."""
        return cast("t.KeyList", self._transport.call("GET", "/keys"))["keys"]

    def retire_key(
        self,
        keyid: str,
        reason: str,
        *,
        force: bool = False,
        idempotency_key: str | None = None,
    ) -> t.Key:
        """Serve nothing that a key has signed. For governors of the tenant ``public`` only.

        ``force``: also where no other active key of its purpose is left.
        """
        return self._take_out("retire", keyid, reason, force, idempotency_key)

    def revoke_key(
        self,
        keyid: str,
        reason: str,
        *,
        force: bool = False,
        idempotency_key: str | None = None,
    ) -> t.Key:
        """As ``retire_key``, and for good."""
        return self._take_out("revoke", keyid, reason, force, idempotency_key)

    def _take_out(
        self, how: str, keyid: str, reason: str, force: bool, idempotency_key: str | None
    ) -> t.Key:
        body = {"reason": reason, "force": force}
        reply = self._change("POST", f"/keys/{segment(keyid)}/{how}", body, idempotency_key)
        return cast("t.Key", reply)

    # --- access -------------------------------------------------------------------------------

    def cut_principal(
        self,
        subject: str,
        reason: str,
        *,
        not_before: datetime | str | None = None,
        idempotency_key: str | None = None,
    ) -> t.Cut:
        """Void the tokens of a subject of this tenant that were issued before ``not_before``, or
        before now. A later cut that was made already stays."""
        body = fields.given(subject=subject, reason=reason, not_before=fields.time(not_before))
        return cast("t.Cut", self._change("POST", "/principals/cut", body, idempotency_key))

    # --- policies -----------------------------------------------------------------------------

    def policy(self, name: str) -> t.SignedPolicy:
        """The one in force for the caller's tenant."""
        return cast("t.SignedPolicy", self._transport.call("GET", f"/policies/{segment(name)}"))

    def policy_history(self, name: str) -> t.PolicyHistory:
        """Newest first; of the tenant's own policy, for the tenant ``public`` of the default."""
        reply = self._transport.call("GET", f"/policies/{segment(name)}/history")
        return cast("t.PolicyHistory", reply)

    def sign_policy(
        self,
        name: str,
        document: Mapping[str, object],
        *,
        idempotency_key: str | None = None,
    ) -> t.SignedPolicy:
        """Check, sign and keep a policy. ``activate_policy`` with its ``digest`` puts it in force."""
        path = f"/policies/{segment(name)}/versions"
        reply = self._change("POST", path, {"document": dict(document)}, idempotency_key)
        return cast("t.SignedPolicy", reply)

    def activate_policy(
        self, name: str, digest: str, *, idempotency_key: str | None = None
    ) -> t.SignedPolicy:
        path = f"/policies/{segment(name)}/activate"
        return cast(
            "t.SignedPolicy", self._change("POST", path, {"digest": digest}, idempotency_key)
        )

    def roll_back_policy(self, name: str, *, idempotency_key: str | None = None) -> t.SignedPolicy:
        """Put the one in force that was before; its reply is what is in force then."""
        path = f"/policies/{segment(name)}/rollback"
        return cast("t.SignedPolicy", self._change("POST", path, None, idempotency_key))

    # --- indices ------------------------------------------------------------------------------

    def indexes(self) -> list[t.IndexBuild]:
        """The tenant's, those that were built and served before included."""
        reply = cast("t.IndexBuilds", self._transport.call("GET", "/indexes"))
        return reply["indices"]

    def rebuild_indexes(
        self, *, model: str | None = None, idempotency_key: str | None = None
    ) -> t.IndexBuilds:
        """Build them anew beside those that are served. ``model``: "own", the deployment's, or
        "other", the one that the rebuild function has besides."""
        body = fields.given(model=model)
        reply = self._change("POST", "/indexes/rebuild", body, idempotency_key)
        return cast("t.IndexBuilds", reply)

    def drop_index(self, build_id: str, *, idempotency_key: str | None = None) -> t.IndexBuild:
        """Give up one that is being built, or retire one of a former model."""
        reply = self._change("DELETE", f"/indexes/{segment(build_id)}", None, idempotency_key)
        return cast("t.IndexBuild", reply)
