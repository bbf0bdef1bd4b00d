"""Reports: nothing is claimed that nobody has found, and no report shares its lists with another."""

import msgspec

from chatrest.export import Failure, Report


def test_a_report_claims_nothing_by_itself() -> None:
    report = Report()
    assert report.complete is False
    assert report.until is None
    assert (report.messages, report.written, report.changed, report.deleted, report.requests) == (0,) * 5
    assert (report.reasons, report.failed, report.deleted_users) == ([], [], [])


def test_what_is_added_to_one_report_is_in_no_other() -> None:
    one, other = Report(), Report()
    one.reasons.append("a reason")
    one.failed.append(Failure("user a", "refused"))
    one.deleted_users.append("user b")
    assert (other.reasons, other.failed, other.deleted_users) == ([], [], [])
    assert (Report().reasons, Report().failed) == ([], [])


def test_a_report_can_be_written_as_json_and_read_again() -> None:
    report = Report(
        complete=True, until=2**63 - 2, failed=[Failure("user é", "refused")], deleted_users=["user b"]
    )
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report
