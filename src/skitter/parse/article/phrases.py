"""Words by which a line shows that it is about the article, or leads away from it."""

import re

MAX_LINE = 300
"""Longer lines are text whatever they say."""

_JUNK = re.compile(
    # Buttons, counters, marks of advertisements.
    r"(?:advert(?:isement|ising|s)?|ads?|sponsored|anzeige|publicidad|publicidade|publicité|реклама|广告"
    r"|share|share (?:this|on|via|the) .{0,40}|print|e-?mail|facebook|twitter|whatsapp|close"
    r"|loading\W*|\d+ (?:comments?|shares?|views?|likes?)|comments?(?: \(\d+\))?"
    r"|leave a (?:comment|reply).{0,60}"
    r"|image \d+ of .{0,6}|\d+ ?/ ?\d+|back to gallery|(?:hide|show) captions?|captions?"
    # What leads to other pages.
    r"|(?:read|see|learn) more\b.{0,200}|related(?: \w+)?\W*|related: .{0,200}|see also\W.{0,200}"
    r"|also read\W.{0,200}|(?:more|watch|read|listen): .{0,200}|leggi anche\W?.{0,200}"
    r"|(?:leia|veja|lea|lee) (?:também|también|mais|más)\W?.{0,200}|lire aussi\W?.{0,200}"
    r"|(?:mehr|lesen sie)\W (?:zum thema|auch).{0,200}|читайте также\W?.{0,200}"
    r"|(?:follow|like|join|find) (?:us|\w+) on .{0,100}|sign up (?:for|to|now|here)\b.{0,150}"
    r"|subscribe (?:to|now|for|today)\b.{0,150}|like this (?:story|article)\?.{0,60}"
    r"|(?:相关阅读|相关新闻|相关报道|推荐阅读|延伸阅读|点击进入|更多精彩|返回|打印|纠错|扫一扫|分享到|分享让).{0,40}"
    r"|copyright\W{1,3}(?:\(c\) ?)?\d{4}.{0,60}|版权所有.{0,60}|.{0,20}ICP备.{0,30}"
    # Who wrote it, when, and under which words it is filed.
    r"|by [A-Z][\w.'’-]*,?(?: [\w.'’-]+,?){0,7}|(?:last )?updated:? .{0,60}|published:? .{0,60}"
    r"|posted (?:on|by|in|at) .{0,60}|(?:photos?|pictures?|images?)(?: credits?| by)?: .{0,100}"
    r"|tags?\W.{0,200}|filed under\W.{0,200}|topics?: .{0,200}"
    r"|\W?(?:责任编辑|责编|编辑|来源|作者|本文来源|文章来源|标签|关键词|关键字|字号)\W.{0,40})",
    re.IGNORECASE,
)
_END = re.compile(
    r"\W*(?:\d+ )?(?:(?:user |reader |recent |top |all |your )?comments?|responses?|replies"
    r"|leave a (?:comment|reply)|(?:post|add|write) a comment|join the (?:conversation|discussion)"
    r"|comentarios?|comentários?|comentar|deixe (?:um|seu) comentário|deja (?:un|tu) comentario"
    r"|commentaires?|kommentare?|commenti|reacties|комментарии"
    r"|related (?:articles|stories|posts|news|content|topics|items|links)"
    r"|you (?:may|might) also like"
    r"|more (?:stories|news|articles|from) ?.{0,30}|recommended(?: for you| stories| articles)?"
    r"|about the author|about the authors|read next|up next|trending(?: now)?|most (?:read|popular)"
    r"|.{0,6}评论|.{0,4}留言|相关(?:阅读|新闻|文章|报道|推荐|链接)|(?:推荐|延伸)阅读|猜你喜欢|热门(?:推荐|文章|评论)"
    r"|コメント|関連記事|관련기사|댓글)[\s\W]*\d*\s*(?:条|件|개)?\W*",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"(?:more|related|recommended|read|see also|also|don't miss|you may|trending|popular|leggi|lea"
    r"|lire|mehr|veja|leia|читайте|相关|推荐|延伸|热门|更多)",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"\b\d{1,2}[:h]\d\d\b|\d{4}\s?[-/.年]\s?\d{1,2}|\b\d{1,2}[-./]\d{1,2}[-./]\d{4}"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}\b"
    r"|\b\d{1,2}\.? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b",
    re.IGNORECASE,
)


def is_junk(line: str) -> bool:
    """Tell whether ``line`` is no part of the text around it."""
    return len(line) <= MAX_LINE and _JUNK.fullmatch(line) is not None


def ends_article(line: str) -> bool:
    """Tell whether ``line`` heads what comes after an article: comments, other articles."""
    return len(line) <= 60 and _END.fullmatch(line) is not None


def leads_away(line: str) -> bool:
    """Tell whether ``line`` heads a list of other pages."""
    return len(line) <= MAX_LINE and _MORE.match(line) is not None


def is_dated(line: str) -> bool:
    """Tell whether ``line`` names a day or a time."""
    return _DATED.search(line[:MAX_LINE]) is not None
