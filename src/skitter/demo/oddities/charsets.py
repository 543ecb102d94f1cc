"""Pages in the encodings of East Asia and the old web, declared in every way and in none."""

from skitter.demo.model import Charset, Page, Prose
from skitter.demo.oddities.exhibit import BACK, Exhibit, at, link

_GB_KIN = frozenset({"gb18030", "gb2312"})
_TEXTS = {
    "gbk-header": (
        "老城区的茶馆清晨就坐满了人",
        "天还没有亮，卖豆腐的老人已经推着车走过石桥。茶馆的伙计把桌椅摆到街边，烧好第一壶水。"
        "客人们谈论天气、庄稼和远方的亲人，说到高兴的地方，整条街都能听见笑声。"
        "到了中午，太阳照进院子，说书人拍响木板，孩子们便安静下来。",
    ),
    "gbk-meta": (
        "山区小学迎来新的图书馆",
        "书架是家长们用旧木料做的，书来自全国各地。老师说，孩子们最喜欢的是关于星星和海洋的书，"
        "因为他们还没有见过大海。图书馆每天下午开放，周末由高年级的学生轮流管理。",
    ),
    "gbk-undeclared": (
        "候鸟回到湖边湿地",
        "观察员在湖边住了三个月，记录下每一群候鸟到达的时间。今年的水位比往年高，芦苇长得更密，"
        "所以鸟儿来得早，也停留得久。附近的村民自发组成巡护队，提醒游客保持安静，不要靠近鸟巢。"
        "研究人员希望这些数据能帮助人们更好地保护湿地。",
    ),
    "gb18030-meta": (
        "古籍修复师的一天",
        "修复一页纸要用去整整一个上午。她先用清水慢慢润湿纸面，再用竹刀分开粘连的书页，"
        "最后补上颜色相近的新纸。她说，这份工作最需要的是耐心，其次是好的光线。㐀",
    ),
    "big5-header": (
        "海港的夜色與渡輪",
        "渡輪在黃昏時分離開碼頭，燈光一盞一盞亮起來。老船長說，他每天都走同樣的航線，"
        "卻從來沒有看過同樣的天空。乘客靠在欄杆旁邊，看著城市慢慢變成一條發光的線。",
    ),
    "big5-undeclared": (
        "巷子裡的老書店",
        "書店開在一條安靜的巷子裡，已經有四十年了。老闆記得每一位客人喜歡什麼書，"
        "也記得他們第一次走進來的樣子。下雨的時候，這裡總是坐滿了人，大家一邊聽雨，一邊讀書。"
        "他說只要還有人願意來，他就會繼續開下去。",
    ),
    "sjis-meta": (
        "港町の小さな灯台",
        "灯台は百年前からこの町の海を照らしています。今では人が住んでいませんが、"
        "毎週日曜日になると近所の人たちが集まって掃除をします。階段を上ると、"
        "遠くの島まで見ることができます。",
    ),
    "sjis-undeclared": (
        "春祭りの準備が始まりました",
        "商店街では提灯が飾られ、子どもたちは太鼓の練習をしています。今年は雨が少ないので、"
        "桜はいつもより早く咲くでしょう。祭りの日には町の人たちがみんな通りに出て、"
        "夜遅くまで歌ったり踊ったりします。",
    ),
    "euckr-meta": (
        "강가의 작은 도서관",
        "도서관은 강이 내려다보이는 언덕 위에 있습니다. 사람들은 아침 일찍 와서 신문을 읽고, "
        "오후에는 아이들이 숙제를 하러 옵니다. 가을이 되면 창밖의 나무들이 붉게 물듭니다.",
    ),
    "latin1-header": (
        "Café de la Gare, où l'été n'en finit pas",
        "Le garçon connaît déjà la commande: un café crème, une tartine, et le journal d'hier. "
        "À midi, la terrasse est pleine; à quatre heures, il n'y reste qu'un vélo et un chat.",
    ),
    "utf16-bom": (
        "Ein Brief mit zwei Bytes für jeden Buchstaben",
        "Die Schlüssel hängen über der Tür, schrieb sie, und der Ofen braucht etwas Geduld. "
        "Grüße an die Nachbarn, falls sie noch fragen.",
    ),
    "utf8-undeclared": (
        "Žluťoučký kůň na náměstí",
        "Nikdo nevěděl, odkud přišel, ale děti mu hned začaly nosit jablka. Starosta slíbil, "
        "že mu do večera najde stáj. Kůň stál klidně pod věží a poslouchal hodiny.",
    ),
    "utf8-header-wins": (
        "标头说的是一回事，页面说的是另一回事",
        "这一页的标头写着一种编码，页面里的声明写着另一种。按照标准，应当相信标头。"
        "如果您能读懂这句话，说明程序作出了正确的选择。",
    ),
}
_CHARSETS = {
    "gbk-header": Charset(name="gbk", header="GBK", meta=None),
    "gbk-meta": Charset(name="gbk", header=None, meta="gb2312"),
    "gbk-undeclared": Charset(name="gbk", header=None, meta=None, lookalikes=_GB_KIN),
    "gb18030-meta": Charset(name="gb18030", header=None, meta="gb18030"),
    "big5-header": Charset(name="big5", header="Big5", meta=None),
    "big5-undeclared": Charset(name="big5", header=None, meta=None),
    "sjis-meta": Charset(name="shift_jis", header=None, meta="Shift_JIS"),
    "sjis-undeclared": Charset(name="shift_jis", header=None, meta=None),
    "euckr-meta": Charset(name="euc-kr", header=None, meta="euc-kr"),
    "latin1-header": Charset(name="windows-1252", header="ISO-8859-1", meta=None),
    "utf16-bom": Charset(name="utf-16le", header=None, meta=None, bom=True),
    "utf8-undeclared": Charset(name="utf-8", header=None, meta=None),
    "utf8-header-wins": Charset(name="utf-8", header="utf-8", meta="gbk"),
}
_LANGUAGES = {
    "big5-header": "zh-TW",
    "big5-undeclared": "zh-TW",
    "sjis-meta": "ja",
    "sjis-undeclared": "ja",
    "euckr-meta": "ko",
    "latin1-header": "fr",
    "utf16-bom": "de",
    "utf8-undeclared": "cs",
}


def charsets() -> Exhibit:
    """Return the group."""
    pages = tuple(_page(name) for name in _TEXTS)
    links = tuple(link(page.at.path, page.title or "") for page in pages)
    return Exhibit("Encodings", pages, links)


def _page(name: str) -> Page:
    title, text = _TEXTS[name]
    return Page(
        at=at(f"/charset/{name}"),
        title=title,
        lang=_LANGUAGES.get(name, "zh-CN"),
        nav=BACK,
        charset=_CHARSETS[name],
        blocks=(Prose((text,)),),
    )
