"""What the demo claims, and whether it was so."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Check:
    claim: str
    ok: bool
    seen: str

    def as_json(self) -> dict[str, object]:
        return {"claim": self.claim, "ok": self.ok, "seen": self.seen}


@dataclass(slots=True)
class Checks:
    """Every claim is kept; a failed one doesn't hide those after it."""

    made: list[Check] = field(default_factory=list)

    def that(self, claim: str, ok: bool, seen: object = "") -> bool:
        self.made.append(Check(claim, bool(ok), str(seen)))
        return ok

    def equal(self, claim: str, seen: object, expected: object) -> bool:
        shown = seen if seen == expected else f"{seen!r}, expected {expected!r}"
        return self.that(claim, seen == expected, shown)

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.made if not check.ok]
