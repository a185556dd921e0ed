"""Ask for an index to be built anew, see what became of it, drop one that nobody needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from custody.application.callers import require, trust_view_for
from custody.application.indexing.pace import BuildPace
from custody.application.indexing.rebuild import OTHER, OWN, held_back
from custody.application.ports import Builds, Clock, Jobs, TrustReads
from custody.application.races import again_when_moved
from custody.domain.index import builds
from custody.domain.index.builds import BuildState, IndexBuild
from custody.domain.index.candidates import Space
from custody.domain.jobs import RebuildJob
from custody.domain.model import BuildKey, Principal, Scope
from custody.errors import Conflict, NotFound, Unprocessable

MODELS = (OWN, OTHER)


@dataclass(frozen=True, slots=True)
class Indices:
    trust: TrustReads
    builds: Builds
    jobs: Jobs
    clock: Clock
    pace: BuildPace

    def rebuild(self, principal: Principal, *, model: str = OWN) -> tuple[IndexBuild, ...]:
        """One build for each space of the caller's tenant. Where one is being built with that
        model already, it is that one, and its job is sent again. Raises Conflict(index-in-use)
        while one is being built with another."""
        require(principal, Scope.GOVERN)
        trust_view_for(self.trust, principal)
        if model not in MODELS:
            raise Unprocessable("The model is own or other.", field="model")
        wanted = again_when_moved(
            lambda: [self._begin(space, principal, model) for space in _spaces(principal.tenant)],
            lost="The indices are being changed by others; try again.",
        )
        self.jobs.send([RebuildJob(build.key) for build in wanted])
        return tuple(wanted)

    def _begin(self, space: Space, principal: Principal, model: str) -> IndexBuild:
        known = self.builds.builds(space.tenant)
        for build in known:
            if build.space == space and build.state is BuildState.BUILDING:
                if build.model != model:
                    raise Conflict(
                        "An index of the space is being built with another model.",
                        code="index-in-use",
                    )
                return build
        build_id = builds.next_id(space, [build.key.build_id for build in known])
        now = self.clock.now()
        return self.builds.put_build(
            IndexBuild(
                key=BuildKey(space.tenant, build_id),
                space=space,
                revision=0,
                state=BuildState.BUILDING,
                requested_by=principal.subject,
                requested_at=now,
                model=model,
                updated_at=now,
            )
        )

    def show(self, principal: Principal) -> Sequence[IndexBuild]:
        """Every build of the tenant that is known, the newest first; for governors and auditors."""
        require(principal, Scope.GOVERN, Scope.AUDIT)
        trust_view_for(self.trust, principal)
        found = self.builds.builds(principal.tenant)
        return sorted(found, key=lambda build: build.requested_at, reverse=True)

    def drop(self, principal: Principal, build_id: str) -> IndexBuild:
        """Give up one that is being built; retire one that is served, where an index of another
        model is served as well. Raises Conflict(index-in-use) otherwise."""
        require(principal, Scope.GOVERN)
        trust_view_for(self.trust, principal)
        dropped = again_when_moved(
            lambda: self._drop(BuildKey(principal.tenant, build_id)),
            lost="The index is being changed by others; try again.",
        )
        now = self.clock.now()
        left = (dropped.retire_at or now) - now
        self.jobs.send([RebuildJob(dropped.key)], delay_seconds=held_back(left))
        return dropped

    def _drop(self, key: BuildKey) -> IndexBuild:
        build, now = self.builds.build(key), self.clock.now()
        if build is None:
            raise NotFound("There is no such index.")
        if build.state is BuildState.BUILDING:
            return self.builds.put_build(builds.abandoned(build, "given-up", now=now))
        if build.state is not BuildState.SERVED:
            return build
        others = [
            other
            for other in self.builds.builds(key.tenant)
            if other.space == build.space
            and other.state is BuildState.SERVED
            and other.key != key
            and other.model_revision != build.model_revision
        ]
        if not others:
            raise Conflict(
                "The index is served, and no index of another model is.", code="index-in-use"
            )
        until = now + self.pace.grace
        return self.builds.put_build(builds.retiring(build, now=now, until=until))


def _spaces(tenant: str) -> tuple[Space, ...]:
    return (Space(tenant), Space(tenant, history=True))
