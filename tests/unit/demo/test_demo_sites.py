import re
from html import unescape

import pytest
import turbohtml

from skitter.demo.build import SPECIAL, demo_web
from skitter.demo.expected import HTML_TYPES
from skitter.demo.html import document, encoded
from skitter.demo.model import Page, Target
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import target_of
from skitter.demo.web import Web
from skitter.url.parse import Base

PORT = 8123
WEB = demo_web().at_port(PORT)
TRUTH = ground_truth(WEB)
NORMAL = [
    WEB.page(target)
    for target, expected in TRUTH.expected.items()
    if expected.most
    and WEB.page(target).answer.status == 200
    and WEB.page(target).answer.body is None
    and WEB.page(target).answer.media_type in HTML_TYPES
]


def all_bytes(web: Web) -> dict[Target, bytes]:
    targets = ground_truth(web, Plan(sitemaps="no")).expected
    return {
        target: encoded(web, web.page(target))
        for target in targets
        if target.site in web.sites and web.page(target).answer.body is None
    }


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert all_bytes(demo_web(seed=3).at_port(80)) == all_bytes(demo_web(seed=3).at_port(80))


def test_another_seed_gives_another_web_of_the_same_shape() -> None:
    one, two = all_bytes(demo_web(seed=1).at_port(80)), all_bytes(demo_web(seed=2).at_port(80))
    articles = [target for target in one if re.search(r"\d\.s?html", target.path)]
    assert len(articles) > 50
    assert all(one[target] != two.get(target) for target in articles)
    assert abs(len(one) - len(two)) < 10


@pytest.mark.parametrize("pages", [200, 300, 1000, 4000])
def test_the_ordinary_sites_have_about_as_many_urls_as_asked_for(pages: int) -> None:
    targets = ground_truth(demo_web(pages=pages).at_port(PORT), Plan(sitemaps="no")).expected
    ordinary = sum(target.site not in SPECIAL for target in targets)
    assert abs(ordinary - pages) <= 0.1 * pages
    assert 0.5 * pages < len(targets) - ordinary < 1.2 * pages


def test_every_site_can_be_entered_by_itself() -> None:
    assert WEB.entries.keys() == WEB.sites.keys()
    assert WEB.entries["maze"] == WEB.entry_of("maze") == f"http://maze.demo.test:{PORT}/"
    for site in WEB.sites:
        assert WEB.page(Target(site, "/")).answer.status in {200, 307}


@pytest.mark.parametrize("site", ["news", "shop", "docs"])
@pytest.mark.parametrize(
    "path",
    ["/nothing", "/p/99999-oak-chair", "/p/1-wrong-name", "/world/page/999/", "/world/page/1/",
     "/2024/01/01/wrong-0.html", "/article.php?id=99999", "/item?id=99999", "/c/chairs?page=1",
     "/c/boats", "/stable/guide/ch99/", "/stable/guide/ch01/s9.html", "/author/nobody"],
)  # fmt: skip
def test_paths_that_were_never_given_out_have_no_page(site: str, path: str) -> None:
    assert WEB.sites[site].page(path) is None


@pytest.mark.parametrize("page", NORMAL, ids=lambda page: f"{page.at.site}{page.at.path}")
def test_a_document_says_what_its_facts_say(page: Page) -> None:
    tree = turbohtml.parse(document(WEB, page))
    shown = tree.select_one("title")
    title = " ".join(page.title.split()) if page.title else None
    assert (" ".join(shown.text.split()) if shown else None) == title
    base = tree.select_one("base")
    start = Base(WEB.url(page.at)).join(str(base.attrs["href"])) if base else WEB.url(page.at)
    assert start is not None
    found = [
        target_of(
            WEB, Base(start).join(str(element.attrs.get("href", element.attrs.get("src")))) or ""
        )
        for element in tree.select("a[href], area[href], frame[src], iframe[src]")
    ]
    wanted = [link.to for link in page.links()]
    if page.uncounted:
        found = [target for target in found if target in wanted and target != page.at]
    assert found == wanted


def test_every_page_has_content_of_its_own_except_the_twins() -> None:
    bodies: dict[bytes, set[Target]] = {}
    for page in NORMAL:
        body = encoded(WEB, WEB.page(page.twin_of) if page.twin_of else page)
        bodies.setdefault(body, set()).add(page.at)
    equal = {frozenset(group) for group in bodies.values() if len(group) > 1}
    assert equal == {e.twins for e in TRUTH.expected.values() if e.twins}
    assert len(equal) >= 3


@pytest.mark.parametrize(
    "page",
    [page for page in NORMAL if page.charset.name != "utf-8" and page.twin_of is None],
    ids=lambda page: page.at.path,
)
def test_a_page_in_a_legacy_encoding_reads_the_same_once_decoded(page: Page) -> None:
    codecs = {"shift_jis": "cp932", "euc-kr": "cp949", "utf-16le": "utf-16"}
    text = encoded(WEB, page).decode(codecs.get(page.charset.name, page.charset.name))
    assert unescape(text.removeprefix("\ufeff")) == unescape(document(WEB, page))


def test_chinese_news_is_served_in_gbk_and_says_gb2312() -> None:
    page = WEB.page(Target("news", "/yaowen/"))
    head = encoded(WEB, page)
    assert b'<meta charset="gb2312">' in head
    assert "要闻".encode("gbk") in head
    assert page.charset.header is None


def test_titles_are_pleasant_to_read() -> None:
    titles = [page.title for page in NORMAL if page.at.site == "news" and page.title]
    assert any(re.fullmatch(r"[A-Z][a-z]+.* in [A-Z]\w+.* .+", title) for title in titles)
    assert any(re.search("[\u4e00-\u9fff]{6,}", title) for title in titles)


def test_a_hosts_file_names_every_site_once() -> None:
    lines = WEB.hosts_file("127.0.0.9").splitlines()
    assert "127.0.0.9 news.demo.test" in lines
    assert "127.0.0.9 www.partner.test" in lines
    assert len(lines) == len(set(lines)) == len(WEB.sites)


def test_the_domain_can_be_chosen() -> None:
    web = demo_web(domain="demo.localhost").at_port(PORT)
    assert web.entry == f"http://www.demo.localhost:{PORT}/"
    assert ground_truth(web, Plan()).pages
