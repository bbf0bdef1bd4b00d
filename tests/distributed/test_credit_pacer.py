"""A worker's side of the one rate: which slots it uses, and when."""

import pytest

from chatrest._core.replies.rate_signal import Signal
from chatrest.distributed.credit_pacer import LOST, CreditAccount, CreditPacer, OtherClock
from chatrest.distributed.credits import LATE, Grant, Grants
from chatrest.errors import ChatRestError

AHEAD = 7200.0
"""The seconds by which the coordinator's clock is ahead."""


class Worker:
    """A worker that waits for requests, and messages to it."""

    def __init__(self, clock: OtherClock | None = None) -> None:
        self.waiting = 10
        self.alarms = 0
        self.account = CreditAccount("worker", lambda _: self.waiting, self.alarm, clock)
        self.pacer: CreditPacer = self.account.pacer("standard")
        self.number = 0

    def alarm(self) -> None:
        self.alarms += 1

    def grant(
        self, now: float, *slots: float, epoch: int = 1, first: int = 0, late: float = 0.0, slept: float = 0.0
    ) -> None:
        """Deliver a message with slots, which was sent `late` seconds ago and answers a report.

        The coordinator's clock has stood still for the seconds that it has `slept`.
        """
        report = self.account.report(now - late)
        self.number += 1
        grant = Grant(epoch, 10.0, first, [slot + AHEAD for slot in slots])
        self.account.receive(
            Grants(self.number, now - late - slept + AHEAD, report.number, {"standard": grant}), now
        )

    def used(self, now: float) -> bool:
        """Send a request if one may go."""
        if self.pacer.delay(now, urgent=False) > 0:
            return False
        self.pacer.take(now, urgent=False)
        return True


def test_slots_are_used_at_their_times_and_no_twice() -> None:
    worker = Worker()
    worker.grant(1.0, 1.1, 1.2, 1.3)
    assert worker.pacer.delay(1.0, urgent=False) == pytest.approx(0.1)
    assert worker.used(1.1)
    worker.grant(1.15, 1.1, 1.2, 1.3, 1.4)  # the coordinator did not know yet
    assert worker.pacer.delay(1.15, urgent=False) == pytest.approx(0.05)
    assert worker.used(1.2 + 0.9 * LATE)
    assert worker.used(1.3 + 1.1 * LATE)  # that of 1.4: the other one is over
    assert not worker.used(1.3 + 1.1 * LATE)
    assert worker.account.report(1.5).usages["standard"].missed == 1


def test_a_further_task_uses_slots_at_once_where_the_first_one_has_learnt_the_clock() -> None:
    clock = OtherClock()
    Worker(clock).grant(1.0)
    for further, is_used in ((Worker(clock), True), (Worker(), False)):
        further.grant(2.0, 2.1, late=0.5)  # such a late answer alone does not show the clock well
        assert further.used(2.11) is is_used


def test_an_older_message_changes_nothing() -> None:
    worker = Worker()
    worker.grant(1.0, 1.1)
    worker.number -= 2
    worker.grant(1.0, 1.1, 1.2)
    assert worker.used(1.1)
    assert not worker.used(1.2)


def test_a_429_empties_the_list_until_a_new_epoch() -> None:
    worker = Worker()
    worker.grant(1.0, 1.1, 1.2)
    assert worker.used(1.1)
    before = worker.alarms
    worker.pacer.observe(1.15, Signal(True, retry_after=2.0), 1.1)
    assert worker.alarms == before + 1
    assert not worker.used(1.2)
    worker.grant(1.2, 1.3, first=2)  # made before the coordinator knew
    assert not worker.used(1.3)
    worker.grant(1.4, 1.5, epoch=2, first=3)
    assert worker.used(1.5)


def test_a_refusal_says_what_is_left_of_its_seconds() -> None:
    worker = Worker()
    worker.grant(1.0, 1.1)
    worker.used(1.1)
    worker.pacer.observe(1.2, Signal(True, retry_after=2.0), 1.1)
    [refusal] = worker.account.report(1.7).usages["standard"].refused
    assert (refusal.epoch, refusal.sent, refusal.retry_after) == (
        1,
        pytest.approx(1.1 + AHEAD),
        pytest.approx(1.5),
    )


def test_a_late_message_moves_no_slot() -> None:
    worker = Worker()
    worker.grant(1.0)
    worker.grant(5.0, 5.1, late=3.0)  # its slots are where they are, not three seconds later
    assert worker.used(5.11)


def test_no_slot_is_used_while_all_messages_are_late_for_the_first_seconds() -> None:
    worker = Worker()
    worker.grant(1.0, 1.1, late=2.0)
    assert not worker.used(3.1)
    worker.grant(4.5, 4.6, first=1, late=2.0)
    assert worker.used(6.6)  # by now this is as it is


def test_the_clock_is_learnt_anew_when_that_of_the_coordinator_has_stood_still() -> None:
    worker = Worker()
    worker.grant(1.0, 1.1)
    assert worker.used(1.1)
    for step in range(2, 20):
        worker.grant(step, step - 49.9, first=step, slept=50.0)
        assert worker.used(step + 0.11) is (step >= 12)


def test_who_waits_without_a_slot_raises_one_alarm() -> None:
    worker = Worker()
    for _ in range(3):
        assert 0 < worker.pacer.delay(1.0, urgent=False) < 0.1
    assert worker.alarms == 1
    worker.account.report(1.0)
    worker.pacer.delay(1.1, urgent=False)
    assert worker.alarms == 1
    worker.waiting = 0
    worker.account.report(1.2)
    worker.pacer.delay(1.3, urgent=False)
    assert worker.alarms == 2


def test_a_request_does_not_wait_for_ever_for_a_coordinator() -> None:
    worker = Worker()
    assert 0 < worker.pacer.delay(100.0, urgent=False) < 1
    assert 0 < worker.pacer.delay(100.0 + LOST, urgent=False) < 1
    with pytest.raises(ChatRestError, match="has not answered for 60 s"):
        worker.pacer.delay(100.1 + LOST, urgent=False)
