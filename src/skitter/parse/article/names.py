"""What the names that sites give to the parts of their pages say about the contents.

Names are the class, id and role of an element; the words in them are English nearly everywhere,
Chinese sites also write pinyin.
"""

import re
from enum import IntEnum
from functools import lru_cache

from turbohtml import Element

MAX_NAMES = 1_000
"""Further names of a page are not looked at: no site has as many, and time is bounded."""
_MAX_NAME_CHARS = 160
_CACHED_NAMES = 8192


class Name(IntEnum):
    """What a name says of the element that bears it."""

    OTHER = -2
    """Text of others, which may well be longer than the article: comments, related pages."""
    FRAME = -1
    """Belongs to the site, or is about the article: navigation, captions, buttons."""
    NEUTRAL = 0
    BODY = 1
    """Holds an article's text."""


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# Stems long enough to mean nothing else, wherever they stand in a name.
_OTHER = re.compile(
    r"related|recommend|disqus|also-?like|outbrain|taboola|zergnet|revcontent|read-?next|up-?next"
    r"|more-?(?:stor|news|from)|most-?(?:read|popular|viewed)|(?:next|prev)-?article"
    r"|reply-?list|comment-?list|xiangguan|pinglun|tuijian"
    r"|(?<![a-z])(?:comment|comments|respond|replies|reply|cmt)(?![a-z])"
)
_FRAME = re.compile(
    r"sidebar|footer|newsletter|cookie|consent|trending|latest-?news|top-?stor|guanggao"
    r"|breadcrumb|masthead|navbar|navigation|subscri|signup|sponsor|promo(?!te)|advert|adsense"
    r"|adsbygoogle|popup|gdpr|toolbar|paginat|caption|byline|copyright|read-?more|see-?also"
    r"|tag-?(?:list|cloud)|screen-reader|visually-?hidden|sr-only|no-?print|carousel|slideshow"
    r"|follow-?(?:us|on)|author-?(?:bio|info|box)|about-?author|social|sharing|share|addtoany|teaser"
    r"|sign-?in|log-?in|jump-?to|skip-?link|table-?of-?contents|donat|feedback|back-?to-?top|hashtag"
    r"|modal|infobox|navbox|mw-editsection|reflist|cite_note|call-?out|pull-?quote|whatsapp|video-?player"
    r"|player-?wrap|(?:image|photo|media|picture)-?credit"
    r"|fenxiang|daohang|erweima|qrcode|banquan|zhuanzai|zebian"
    r"|(?<![a-z])(?:nav|complementary|contentinfo|menu|ad|ads|adv|adbox|meta|metadata|tag|tags|tagged|topics|keywords|foot|banner"
    r"|widget|widgets|credit|credits|toc|rating|ratings|poll|login|register|search|print|rss|rail"
    r"|aside|bio|dateline|timestamp|postmeta|hot|rank|ranking|ewm|bdsharebuttonbox|jiathis|dialog"
    r"|alert|notice|gallery|crumb|crumbs|source|editor|pubtime|prevnext|prev|next|pager|offscreen"
    r"|kicker|eyebrow|optin|cta|messenger|tooltip|playlist|popular|listing|overlay|disclosure)"
    r"(?![a-z])"
    # A heading of the page, unless it is what holds the whole of it.
    r"|(?:article|entry|post|page|story|site|content|main|top)[-_]*header"
)
_BODY = re.compile(
    r"(?:article|entry|post|story|news|blog|text|detail|arti|art|page|single|node|main)"
    r"[-_]{0,2}(?:body|content|text|detail|main|con|cont|copy|txt)(?![a-z])"
    r"|(?:body|content)[-_]{0,2}(?:text|copy|article|body)(?![a-z])"
    r"|articlebody|zhengwen|trs_?editor|trs_view|ucap-content|rich_media_content|endtext|artibody"
    r"|field-name-body|field--name-body|mw-parser-output|articulo|cuerpo|artikel|inhalt|contenu"
    r"|contenido|conteudo|contenuto|materia|noticia"
)
# What says nothing of the element itself: the words of page builders, which call every part of a
# page a widget or a module; states; the subjects of a blog's post.
_NOISE = re.compile(
    r"(?<![a-z-])(?:elementor-[a-z-]*|wpb_[a-z_-]*|vc_[a-z_-]*|et_pb_[a-z_]*|fl-module[a-z-]*"
    r"|tdb?_[a-z_]*|siteorigin-[a-z-]*|(?:has|with|no|without|is|not|wf|js)-[a-z-]*"
    r"|(?:tag|category|type|status|format|post_format|author)-[\w%-]*)"
)
_BUTTON = re.compile(r"button|btn|share|link|count|this")


class Names:
    """Judges the names of one page."""

    def __init__(self) -> None:
        self.chars = 0
        """Length of all names so far."""
        self._judged: dict[str, Name] = {"": Name.NEUTRAL}

    def read(self, element: Element) -> str:
        """Return the class, id and role of ``element``, cut where they are long."""
        parts = (element.attr("class"), element.attr("id"), element.attr("role"))
        name = " ".join(filter(None, parts))
        self.chars += len(name)
        return name[:_MAX_NAME_CHARS]

    def judge(self, name: str) -> Name:
        """Say what ``name``, the class and id of an element, tells of it."""
        judged = self._judged.get(name)
        if judged is None:
            judged = judge_name(name) if len(self._judged) < MAX_NAMES else Name.NEUTRAL
            self._judged[name] = judged
        return judged


@lru_cache(maxsize=_CACHED_NAMES)
def judge_name(name: str) -> Name:
    """Say what a name tells, whatever the page."""
    name = _NOISE.sub(" ", _CAMEL.sub("-", name).lower())
    if "tweet" in name:
        # A message that is shown in an article, not the button that sends one.
        words = name.split()
        name = " ".join(word for word in words if "tweet" not in word or _BUTTON.search(word))
    if _OTHER.search(name):
        return Name.OTHER
    if _FRAME.search(name):
        return Name.FRAME
    return Name.BODY if _BODY.search(name) else Name.NEUTRAL
