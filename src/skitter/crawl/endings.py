"""How a visit ends: with a record, as a refusal, or for another try."""

from skitter.crawl.equipment import Equipment
from skitter.crawl.records import begin_record, take_headers
from skitter.crawl.trip import Trip, Visit
from skitter.errors import AddressRefused, FetchError, TooManyRedirects, TypeRefused
from skitter.fetch.base import Response
from skitter.frontier.model import Link, Result
from skitter.politeness.decision import Code, Decision
from skitter.politeness.pace import Verdict
from skitter.politeness.retry import RetryPolicy
from skitter.types import Outcome

_KEPT = frozenset({Outcome.OK, Outcome.NOINDEX, Outcome.DUPLICATE, Outcome.SKIPPED})


class Endings:
    """Makes visits of trips."""

    def __init__(self, equipment: Equipment) -> None:
        self._with = equipment
        self._retry = RetryPolicy(tries=equipment.job.http.tries)

    def end(
        self,
        trip: Trip,
        outcome: Outcome,
        error: str | None,
        *,
        response: Response | None = None,
        reason: str = "",
    ) -> Visit:
        """End the visit with its record."""
        equipment = self._with
        at_ms = trip.answered_ms if response is not None else None
        record = begin_record(
            trip, equipment.job, outcome, error, at_ms or equipment.clock.now_ms()
        )
        if response is not None:
            take_headers(record, response)
        return Visit(
            lease=trip.lease,
            result=Result.DONE if outcome in _KEPT else Result.DEAD,
            reason=reason,
            record=record,
            hops=trip.hops,
            links=trip.found,
            kept=trip.kept,
        )

    def refused(self, trip: Trip, decision: Decision) -> Visit:
        """End the visit because something forbids it."""
        return self.end(trip, Outcome.REFUSED, decision.sentence, reason=decision.code)

    def later(self, trip: Trip, result: Result, at_ms: int | None, reason: str) -> Visit:
        """Leave the URL for another time; what was held back for its target goes on its way."""
        visit = Visit(lease=trip.lease, result=result, at_ms=at_ms, reason=reason, kept=trip.kept)
        visit.unheld = self.release_hops(trip)
        visit.links = [*trip.found, *visit.unheld]
        return visit

    def put_off(self, trip: Trip, response: Response, verdict: Verdict) -> Visit:
        """Try again later, unless the tries are used up or the site asks for too long a wait."""
        at_ms = self._next_try_ms(trip)
        if at_ms is None or verdict.give_up:
            why = f"status {response.status}" + (f": {verdict.reason}" if verdict.give_up else "")
            reason = f"status {response.status}"
            return self.end(trip, Outcome.HTTP_ERROR, why, response=response, reason=reason)
        at_ms = max(at_ms, verdict.retry_at_ms or 0)
        return self.later(trip, Result.RETRY, at_ms, f"status {response.status}")

    def failed(self, trip: Trip, error: FetchError) -> Visit:
        """End the visit after a request that brought nothing, or leave it for another try."""
        reason = type(error).__name__
        if isinstance(error, TypeRefused):
            visit = self.end(trip, Outcome.SKIPPED, error.why, reason=reason)
            assert visit.record is not None
            visit.record.status, visit.record.content_type = error.status, error.content_type
            return visit
        if isinstance(error, AddressRefused):
            why = f"{error.why}; the operator may allow it with --allow-private"
            return self.refused(trip, Decision.refuse(Code.ADDRESS, why))
        if isinstance(error, TooManyRedirects):
            # Each hop may be fine when it is asked for itself.
            held = self.release_hops(trip)
            visit = self.end(trip, Outcome.FAILED, error.why, reason=reason)
            visit.links = [*trip.found, *held]
            visit.unheld = held
            return visit
        at_ms = self._next_try_ms(trip) if error.retryable else None
        if at_ms is None:
            return self.end(trip, Outcome.FAILED, error.why, reason=reason)
        return self.later(trip, Result.RETRY, at_ms, reason)

    def release_hops(self, trip: Trip) -> list[Link]:
        """Give up the targets this trip reserved; answers the links held back for them."""
        held: list[Link] = []
        for hop in trip.hops:
            held += self._with.reservations.release(hop.fp)
        trip.hops = []
        return held

    def _next_try_ms(self, trip: Trip) -> int | None:
        equipment = self._with
        done = trip.lease.attempts + 1
        return self._retry.next_try_ms(done, equipment.clock.now_ms(), equipment.rng)
