"""What the service says most often, in Chinese: checks of a job, refusals, jobs that are not there.

Sentences are made where they are known, in English and with the names of a job file. What is not
here is shown as it was said.
"""

from typing import Final

SAID: Final = (
    # The check of a job: where, what it was, what was wanted.
    (r"(?P<first>[^;]+: [^;]+); (?P<more>[\w.\[\]-]+: .+)", "{first}；{more}"),
    (r"(?P<at>[\w.\[\]-]+): missing", "{at}：缺少"),
    (r"(?P<at>[\w.\[\]-]+): unknown (?:key|name)", "{at}：未知的名称"),
    (
        r"(?P<at>[\w.\[\]-]+): unknown key; did you mean (?P<near>\".+\")\?",
        "{at}：未知的名称，是否指 {near}？",
    ),
    (
        r"(?P<at>[\w.\[\]-]+): unknown key; wanted one of (?P<names>.+)",
        "{at}：未知的名称，可用：{names}",
    ),
    (
        r"(?P<at>[\w.\[\]-]+): unknown key; fields stand in (?P<place>\[.+\])",
        "{at}：未知的名称，字段应写在 {place} 中",
    ),
    (r"(?P<at>[\w.\[\]-]+): (?P<value>.+) is not available yet", "{at}：{value} 尚不支持"),
    (r"(?P<at>[\w.\[\]-]+): (?P<value>.+): wanted (?P<wanted>.+)", "{at}：{value}：应为{wanted}"),
    (r"(?P<at>[\w.\[\]-]+): wanted (?P<wanted>.+)", "{at}：应为{wanted}"),
    (r"an http or https URL", "http 或 https 网址"),
    (r"an http or https URL \((?P<why>.+)\)", "http 或 https 网址（{why}）"),
    (r"(?P<n>[\d.]+) or more", "不小于 {n} 的数"),
    (r"(?P<n>[\d.]+) or less", "不大于 {n} 的数"),
    (r"more than (?P<n>[\d.]+)", "大于 {n} 的数"),
    (r"a whole number", "整数"),
    (r"a number", "数字"),
    (r"a string", "文本"),
    (r"a list", "列表"),
    (r"a table of keys", "键值表"),
    (r"true or false", "true 或 false"),
    (r"(?P<n>\d+) characters at least", "至少 {n} 个字符"),
    (r"(?P<n>\d+) characters at most", "至多 {n} 个字符"),
    (r"(?P<one>'[^']+')(?P<more>(?:, '[^']+')*) or (?P<last>'[^']+')", "{one}{more} 或 {last}"),
    (
        r"up to (?P<n>\d+) letters, digits, dots, dashes and underscores, beginning with .+",
        "至多 {n} 个字母、数字、点、短横线或下划线，以字母或数字开头",
    ),
    (r"an address that all can reach", "公网可访问的地址"),
    (
        r"(?P<at>[\w.\[\]-]+): (?P<kind>.+); wanted an address that all can reach",
        "{at}：{kind}；应为公网可访问的地址",
    ),
    (r"an? (?P<kind>private|loopback|link-local|unspecified) address", "{kind} 地址"),
    (r"a name of this machine or its network", "本机或内网的名称"),
    (
        r"(?P<at>[\w.\[\]-]+): (?P<what>nothing to crawl; wanted one URL or more)",
        "{at}：没有可抓取的网址，至少需要一个",
    ),
    (
        r"(?P<at>[\w.\[\]-]+): there is none of that name; known: (?P<names>.+)",
        "{at}：没有这个名称；可用：{names}",
    ),
    (
        r"(?P<at>media|archive): this service keeps no archive; .+",
        "{at}：此服务没有归档，管理员可用 --warc DIR 开启",
    ),
    (r"line (?P<n>\d+): not valid TOML(?P<why>.*)", "第 {n} 行：不是有效的 TOML{why}"),
    (r"not valid (?P<kind>TOML|JSON)(?P<why>.*)", "不是有效的 {kind}{why}"),
    # Jobs.
    (
        r"job (?P<id>\S+): there is none of that id; did you mean (?P<near>\S+)\?",
        "没有任务 {id}，是否指 {near}？",
    ),
    (
        r"job (?P<id>\S+): there is none of that id; known: (?P<names>.*)",
        "没有任务 {id}；现有：{names}",
    ),
    (r"job (?P<id>\S+): was cancelled; it cannot be \w+", "任务 {id} 已取消，无法执行此操作"),
    (r"job (?P<id>\S+): was cancelled; give it another id", "任务 {id} 已取消，请换一个名称"),
    (
        r"job (?P<id>\S+): is there with other settings \((?P<why>.+)\); give it another id",
        "任务 {id} 已存在且设置不同（{why}），请换一个名称",
    ),
    (r"the job was changed meanwhile; read it again", "任务刚被他人修改，请重新读取"),
    # Why a page is as it is.
    (r"waits in its host's queue", "在站点的队列中等待"),
    (r"is being fetched", "正在抓取"),
    (r"waits for another try", "等待重试"),
    (r"was fetched", "已抓取"),
    (r"was fetched, and waits for its next visit", "已抓取，等待下次访问"),
    (r"was given up or refused", "已放弃或被拒绝"),
    (r"was dropped: the queue was full or the job cancelled", "已丢弃：队列已满或任务已取消"),
    (r"(?P<what>wa(?:s|its) [^(]+) \(\w+\): (?P<why>.+)", "{what}：{why}"),
    (r"was not fetched: (?P<why>.+); see (?P<url>\S+)", "未抓取：{why}；见 {url}"),
    (
        r"redirects to (?P<url>\S+), which has a record of its own",
        "重定向到 {url}，该网址有自己的记录",
    ),
    (
        r"was reached by a redirect; its record is that of (?P<url>\S+)",
        "经重定向到达，记录见 {url}",
    ),
    (r"never queued: (?P<why>.+)", "从未入队：{why}"),
    (r"not met yet; (?P<why>.+)", "尚未发现；{why}"),
    (r"status (?P<code>\d+)", "状态 {code}"),
    # The service.
    (r"the store does not answer at the moment; ask again", "存储暂时没有响应，请稍后再试"),
    (r"what runs here does not answer at the moment; ask again", "服务暂时没有响应，请稍后再试"),
    (r"there are \d+ webhooks already; delete one first", "Webhook 已达上限，请先删除一个"),
)
"""A pattern for the whole of a sentence, and how it is said; its parts are said likewise."""
