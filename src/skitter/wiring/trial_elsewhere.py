"""Rules tried by a service: the page is fetched there, or given from a file here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skitter.client.pages import TrialAnswer
from skitter.parse.article.model import Article
from skitter.parse.document import parse_page
from skitter.parse.rules.ruleset import Item, Listed, Picked
from skitter.wiring.api_access import open_api
from skitter.wiring.look import Where
from skitter.wiring.trial import Trial, TriedLink, page_in


async def try_elsewhere(
    where: Where, job: Mapping[str, Any], target: str, rule: str | None
) -> Trial:
    """Have the rules of a job tried on a URL, or on a file of this machine."""
    assert where.api is not None
    html = None
    if not target.startswith(("http://", "https://")):
        entries = job.get("entries")
        body, target = page_in(Path(target)), str(entries[0]) if entries else "http://page.test/"
        html = body.decode(parse_page(body, "text/html", target).encoding, "replace")
    async with open_api(where.api, where.token) as client:
        return trial_of(await client.try_rules(job, target, html=html, rule=rule))


def trial_of(answer: TrialAnswer) -> Trial:
    """Return an answer as what a trial here would have made."""
    listed = None
    picked = Picked(answer.fields, answer.missing, answer.problems)
    if answer.is_list:
        items = [Item(Picked(dict(one["fields"])), one["url"]) for one in answer.items]
        listed = Listed(items, answer.next, problems=answer.problems)
    return Trial(
        url=answer.url,
        rule=answer.rule,
        page_class=answer.page_class,
        looks_like=answer.looks_like,
        picked=picked,
        listed=listed,
        links=[TriedLink(**link.model_dump()) for link in answer.links],
        article=Article(**answer.article),
    )
