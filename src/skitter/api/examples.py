"""What the requests of the OpenAPI description look like."""

JOB = {
    "id": "news",
    "kind": "news",
    "owner": "ana",
    "entries": ["https://example.com/"],
    "depth": 2,
    "priority": 5,
    "refresh": "10m",
    "limits": {"pages": 10_000},
    "polite": {"delay": 1.0, "rate": "20/60s"},
}
JOB_CHANGE = {"priority": 7, "limits": {"pages": 20_000}}
CLEAR = {"class": "nav", "restart": True}
START = {"kind": "all", "priority": 5, "count": 2}
SETTINGS = {"delay": 2.5, "blacklist": False}
FETCH = {"url": "https://example.com/", "body": False}
TRIAL = {
    "job": {
        "kind": "site",
        "entries": ["https://example.com/"],
        "detail": {"fields": {"title": {"css": "h1::text", "required": True}}},
    },
    "url": "https://example.com/a",
    "html": "<h1>A title</h1><p>and some text",
}
WEBHOOK = {"url": "https://example.com/hook", "job": "news", "types": ["page"]}
RESOLVE = {"urls": ["https://example.com/"], "max_age": 3_600, "wait": 2}
