"""A worker's side of the one rate: how it keeps to its share, and when it stops."""

import pytest

from chatrest._core.replies.rate_signal import Signal
from chatrest.distributed.rate_coordinator import LEASE_SECONDS, Grant
from chatrest.distributed.task_pacer import CATCH_UP_SECONDS, COORDINATOR_SECONDS, TaskPacer
from chatrest.errors import ChatRestError


class Worker:
    def __init__(self) -> None:
        self.waiting = 10
        self.report_requests = 0
        self.pacer = TaskPacer("worker", "standard", lambda _: self.waiting, self.request_report)
        self.number = 0

    def request_report(self) -> None:
        self.report_requests += 1

    def share(
        self, now: float, share: float, *, epoch: int = 1, asked: float = 0.0, is_probe: bool = False
    ) -> bool:
        """Deliver a message, which answers a report that was sent `asked` seconds ago."""
        report = self.pacer.report(now - asked)
        self.number += 1
        grant = Grant(self.number, report.number, epoch, share, LEASE_SECONDS, 2 * share, is_probe)
        return self.pacer.receive(grant, now)

    def sent(self, begin: float, end: float) -> int:
        """Send all requests that may go in this time, and return their number."""
        count, now = 0, begin
        while now < end:
            delay = self.pacer.delay(now, urgent=False)
            if delay == 0:
                self.pacer.take(now, urgent=False)
                count += 1
            now += delay
        return count


def test_requests_go_at_the_share_of_the_rate() -> None:
    worker = Worker()
    worker.share(1.0, 10.0)
    assert worker.sent(1.0, 3.05) == 20
    worker.share(3.05, 40.0)
    assert worker.sent(3.05, 4.05) == pytest.approx(40, abs=1)
    assert worker.pacer.rate == 80.0


def test_slots_before_a_late_wake_up_are_lost() -> None:
    worker = Worker()
    worker.share(1.0, 10.0)
    assert worker.sent(2.9, 2.95) == 1 + 10 * CATCH_UP_SECONDS


def test_a_lease_begins_with_the_report_that_a_message_answers() -> None:
    worker = Worker()
    worker.share(1.0, 10.0, asked=LEASE_SECONDS - 1)
    assert worker.sent(1.0, 10.0) == pytest.approx(10, abs=1)
    worker.share(10.0, 10.0, asked=LEASE_SECONDS)
    assert worker.sent(10.0, 20.0) == 0


def test_an_older_message_changes_nothing() -> None:
    worker = Worker()
    worker.share(1.0, 10.0)
    worker.number -= 1
    assert not worker.share(1.0, 100.0)
    assert worker.sent(1.0, 2.05) == 10


def test_a_429_ends_the_share_until_a_new_epoch() -> None:
    worker = Worker()
    worker.share(1.0, 10.0)
    assert worker.sent(1.0, 1.15) == 1
    before = worker.report_requests
    worker.pacer.observe(1.15, Signal(True, retry_after=2.0), 1.1)
    assert worker.report_requests == before + 1
    [reply] = worker.pacer.report(1.65).replies
    assert (reply.epoch, reply.age, reply.limited, reply.retry_after) == (
        1, pytest.approx(0.55), True, pytest.approx(1.5),
    )  # fmt: skip
    worker.share(1.7, 10.0)  # made before the coordinator knew
    assert worker.sent(1.7, 3.0) == 0
    worker.share(3.0, 10.0, epoch=2)
    assert worker.sent(3.0, 4.05) > 0
    worker.pacer.observe(4.05, Signal(True), 1.12)  # of the epoch before
    assert worker.pacer.report(4.05).replies[0].epoch == 0
    assert worker.sent(4.05, 5.05) > 0


def test_a_probe_is_one_request_with_an_immediate_report() -> None:
    worker = Worker()
    worker.share(1.0, 0.0, epoch=2, is_probe=True)
    worker.share(1.1, 0.0, epoch=2, is_probe=True)  # the same probe
    assert worker.sent(1.1, 1.5) == 1
    before = worker.report_requests
    worker.pacer.observe(1.5, Signal(False), 1.1)
    assert worker.report_requests == before + 1
    worker.share(1.6, 0.0, epoch=3, is_probe=True)
    worker.waiting = 0
    assert worker.pacer.report(1.7).unanswered == 1, "it is not wanted any more"


def test_a_request_that_is_given_back_may_go_again_and_is_not_reported() -> None:
    worker = Worker()
    worker.share(1.0, 10.0)
    for _ in range(2):
        assert worker.pacer.delay(1.1, urgent=False) == 0
        worker.pacer.take(1.1, urgent=False)
        worker.pacer.give_back()
    worker.pacer.take(1.1, urgent=False)
    assert worker.pacer.delay(1.1, urgent=False) > 0
    report = worker.pacer.report(1.1)
    assert (report.sent, worker.pacer.report(1.1).sent, worker.pacer.is_busy) == (1, 0, True)


def test_a_waiter_without_a_share_requests_one_report() -> None:
    worker = Worker()
    for _ in range(3):
        assert 0 < worker.pacer.delay(1.0, urgent=False) < 0.1
    assert worker.report_requests == 1
    worker.pacer.report(1.0)
    worker.pacer.delay(1.1, urgent=False)
    assert worker.report_requests == 1
    worker.waiting = 0
    worker.pacer.report(1.2)
    worker.pacer.delay(1.3, urgent=False)
    assert worker.report_requests == 2


@pytest.mark.parametrize("has_had_a_share", [False, True])
def test_a_request_does_not_wait_for_ever_for_a_coordinator(has_had_a_share: bool) -> None:
    worker = Worker()
    if has_had_a_share:
        worker.share(100.0, 5.0)
        worker.sent(100.0, 103.0)
    for second in range(3, int(COORDINATOR_SECONDS)):  # reports go meanwhile, and nobody hears them
        assert 0 < worker.pacer.delay(100.5 + second, urgent=False) < 1
        worker.pacer.report(100.5 + second)
    with pytest.raises(ChatRestError, match="has not answered for 60 s"):
        worker.pacer.delay(104.0 + COORDINATOR_SECONDS, urgent=False)
