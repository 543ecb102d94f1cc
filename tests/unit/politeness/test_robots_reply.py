import pytest

from skitter.politeness.robots_reply import Access, RobotsReply


@pytest.mark.parametrize(
    ("status", "access"),
    [
        (200, Access.BY_RULES),
        (206, Access.BY_RULES),
        (301, Access.FREE),
        (401, Access.FREE),
        (403, Access.FREE),
        (404, Access.FREE),
        (410, Access.FREE),
        (429, Access.CLOSED),
        (500, Access.CLOSED),
        (503, Access.CLOSED),
        (999, Access.CLOSED),
        (None, Access.CLOSED),
    ],
)
def test_the_status_says_what_the_reply_means(status: int | None, access: Access) -> None:
    assert RobotsReply(status=status).access is access


def test_an_unreachable_site_is_closed_and_says_why() -> None:
    reply = RobotsReply.unreachable("no route")
    assert (reply.access, reply.error) == (Access.CLOSED, "no route")
