"""The largest pages that a session was served."""

from chatrest._core.paging.walk_state import PageSizes


def test_the_largest_page_is_that_of_one_list_asked_in_one_way() -> None:
    sizes = PageSizes()
    for count in (30, 20):
        sizes.of("app", "users.list", "perPage", 1000).note(count)
    assert sizes.of("app", "users.list", "perPage", 1000).count == 30
    for other in (("app", "users.list", "perPage", 10), ("app", "apps.list", "perPage", 1000), ("other",)):
        assert sizes.of(*other).count == 0
