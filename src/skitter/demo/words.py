"""Headlines, product names and running text in English and Chinese, drawn from a seeded dice.

The same key gives the same words on every machine; only ``dice`` creates randomness.
"""

import random
import re

import xxhash


def dice(*key: object) -> random.Random:
    """Return a generator of its own for ``key``."""
    seed = xxhash.xxh3_64_intdigest("\x1f".join(map(str, key)).encode())
    return random.Random(seed)  # noqa: S311 (it makes text, not secrets)


PLACES = (
    "Lisbon", "Nairobi", "Chengdu", "Osaka", "Valparaíso", "Tallinn", "Montréal", "Accra",
    "Wellington", "Kraków", "Cusco", "Tromsø", "Jaipur", "Galway", "Izmir", "Hanoi",
    "Córdoba", "Zürich", "Antwerp", "Penang", "Suzhou", "Bergen", "Recife", "Graz",
)  # fmt: skip
ACTORS = {
    "world": ("Farmers", "Ferry crews", "Mayors", "Teachers", "Fishing towns", "Night nurses",
              "Border villages", "Volunteers", "Students", "Island councils"),
    "business": ("Bakers", "Shipyards", "Bicycle makers", "Small banks", "Tea exporters",
                 "Weavers", "Toy firms", "Vineyards", "Book printers", "Battery plants"),
    "science": ("Astronomers", "Marine biologists", "Seismologists", "Botanists",
                "Robot builders", "Glacier teams", "Chemists", "Bird watchers",
                "Mathematicians", "Ocean engineers"),
    "culture": ("Choirs", "Street painters", "Museum guides", "Puppet makers", "Poets",
                "Film students", "Organ builders", "Dancers", "Cooks", "Carpenters"),
}  # fmt: skip
ACTIONS = {
    "world": ("agree on a shared water plan", "rebuild the old harbour wall",
              "open a school without walls", "vote to keep the night train",
              "plant a belt of trees around the city", "welcome the first ferry in a decade",
              "publish a map of safe cycle routes", "end a long dispute over fishing rights",
              "count every well in the valley", "turn an empty market into homes"),
    "business": ("report a record spring", "share one warehouse to cut costs",
                 "bring an old workshop back to life", "switch to four working days",
                 "sell out within an hour", "move production closer to home",
                 "train two hundred apprentices", "drop plastic packaging",
                 "find buyers across the sea", "open their books to the public"),
    "science": ("map the currents under the ice", "record the quietest place on land",
                "grow salad in desert sand", "explain why the lights flicker in winter",
                "follow a whale for a whole year", "date the oldest bridge in the region",
                "teach a machine to hear leaking pipes", "rediscover a lost orchid",
                "publish the star catalogue of a village school", "measure the town's own heat"),
    "culture": ("fill the square for three nights", "restore a forgotten theatre",
                "sing the archive of a fishing fleet", "bring letters home after a century",
                "paint the longest wall in town", "reopen the library on the river",
                "stage a play in nine languages", "collect recipes from every street",
                "give old looms to young hands", "turn a tram depot into a gallery"),
}  # fmt: skip
_OPENERS = (
    "According to the organisers", "In the early hours of the morning", "Across the old town",
    "For the third year running", "After months of patient work", "On the edge of the river",
    "Between two rain showers", "With little money and many hands", "To everyone's surprise",
    "Long before sunrise", "At a meeting in the town hall", "In a letter to the council",
)  # fmt: skip
_SUBJECTS = (
    "the neighbours", "a small team", "the older members", "two engineers", "the whole school",
    "the harbour office", "several families", "a retired captain", "the night shift",
    "the youngest apprentices", "the committee", "a group of visitors",
)  # fmt: skip
_VERBS = (
    "carried the last boxes up the stairs", "compared notes from a dozen countries",
    "asked for one more summer", "kept the doors open for anyone who wished to look",
    "wrote down what the figures had hidden", "repaired the roof with timber from the forest",
    "measured the distance a second time", "agreed that the plan needed a new name",
    "promised to publish every result", "found that the simplest answer was the right one",
    "counted visitors until the ink ran out", "served tea while the speeches went on",
)  # fmt: skip
_CLOSERS = (
    "and nobody went home early", "which pleased even the critics", "as the forecast had hoped",
    "while the bells rang noon", "and the work goes on next week", "to quiet applause",
    "at half the expected cost", "before the first snow", "without a single complaint",
    "just as the old plans describe it",
)  # fmt: skip

MATERIALS = ("Oak", "Walnut", "Linen", "Steel", "Copper", "Wool", "Cork", "Bamboo", "Glass",
             "Clay", "Leather", "Cotton", "Ash", "Brass", "Felt", "Stone")  # fmt: skip
STYLES = ("Folding", "Reading", "Travel", "Garden", "Harbour", "Evening", "Workshop", "Nordic",
          "Weekend", "Pocket", "Stacking", "Classic", "Little", "Tall")  # fmt: skip
GOODS = {
    "chairs": ("Chair", "Stool", "Bench", "Armchair", "Rocking Chair"),
    "lamps": ("Lamp", "Lantern", "Reading Light", "Floor Lamp", "Candle Holder"),
    "kitchen": ("Kettle", "Bowl", "Bread Board", "Tea Pot", "Pepper Mill", "Pan"),
    "garden": ("Watering Can", "Trowel", "Planter", "Bird House", "Rake"),
    "textiles": ("Blanket", "Cushion", "Curtain", "Table Cloth", "Rug"),
}

ZH_PLACES = ("成都", "苏州", "昆明", "青岛", "西安", "厦门", "桂林", "绍兴",
             "拉萨", "敦煌", "泉州", "大理", "洛阳", "宁波", "喀什", "南京")  # fmt: skip
ZH_ACTORS = {
    "yaowen": ("社区居民", "志愿者", "乡村教师", "城市规划部门", "环卫工人", "港口职工",
               "基层干部", "高校师生", "铁路职工", "消防队员"),
    "keji": ("天文爱好者", "科研团队", "青年工程师", "海洋学者", "植物学家", "机器人实验室",
             "地震台网", "气象观测站", "考古队", "新材料企业"),
}  # fmt: skip
ZH_ACTIONS = {
    "yaowen": ("共建滨河绿道", "开放夜间图书馆", "为老旧小区加装电梯", "启动古城保护计划",
               "举办邻里文化节", "推广节水灌溉", "恢复老火车站", "开通山区公交",
               "建成口袋公园", "发布便民服务清单"),
    "keji": ("绘制冰层下的洋流图", "研发会听水管漏水的机器", "发现一颗新彗星", "复原唐代天文仪器",
             "在沙地种出新鲜蔬菜", "公布开放数据平台", "测出最安静的山谷", "为候鸟建立档案",
             "试验海上风力电站", "点亮高原观测站"),
}  # fmt: skip
_ZH_OPENERS = ("据介绍", "记者了解到", "今年以来", "经过数月努力", "在活动现场", "清晨时分",
               "与往年不同的是", "按照计划", "在当地居民看来", "据现场工作人员说")  # fmt: skip
_ZH_SUBJECTS = ("项目组", "附近的居民", "几位老工程师", "学校的孩子们", "参与者",
                "社区工作人员", "远道而来的游客", "年轻的学徒们", "市民代表", "专家们")  # fmt: skip
_ZH_VERBS = (
    "把多年的记录整理成册", "一起修缮了旧码头的围墙", "对方案提出了许多建议",
    "认真核对了每一组数据", "在院子里种下了新的树苗", "为来访者准备了热茶",
    "希望更多的人参与进来", "把最简单的办法变成了现实", "用半年的时间走访了每一条街道",
    "向公众开放了全部资料",
)  # fmt: skip
_ZH_CLOSERS = ("得到了大家的肯定", "费用只有预算的一半", "下一步工作将在秋天展开",
               "现场响起了掌声", "这在当地还是第一次", "预计年底全部完成",
               "生活因此更加方便", "许多细节令人难忘")  # fmt: skip


def headline(draw: random.Random, section: str) -> str:
    """Return a news headline in the section's language."""
    if section in ZH_ACTORS:
        actor, action = draw.choice(ZH_ACTORS[section]), draw.choice(ZH_ACTIONS[section])
        return f"{draw.choice(ZH_PLACES)}{actor}{action}"
    actor, action = draw.choice(ACTORS[section]), draw.choice(ACTIONS[section])
    return f"{actor} in {draw.choice(PLACES)} {action}"


def product_name(draw: random.Random, category: str) -> str:
    """Return the name of something to buy."""
    good = draw.choice(GOODS[category])
    return f"{draw.choice(MATERIALS)} {draw.choice(STYLES)} {good}"


def sentence(draw: random.Random, lang: str = "en") -> str:
    """Return one sentence."""
    if lang == "zh":
        first = f"{draw.choice(_ZH_OPENERS)}，{draw.choice(_ZH_SUBJECTS)}{draw.choice(_ZH_VERBS)}"
        return f"{first}，{draw.choice(_ZH_CLOSERS)}。"
    opener, subject = draw.choice(_OPENERS), draw.choice(_SUBJECTS)
    return f"{opener}, {subject} {draw.choice(_VERBS)}, {draw.choice(_CLOSERS)}."


def paragraph(draw: random.Random, lang: str = "en", sentences: int = 4) -> str:
    """Return a paragraph of ``sentences`` sentences."""
    return ("" if lang == "zh" else " ").join(sentence(draw, lang) for _ in range(sentences))


def slug(text: str) -> str:
    """Return ``text`` as a part of a path: ASCII letters and digits with dashes between."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
