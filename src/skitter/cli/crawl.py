"""``skitter crawl``: a site, a list of URLs or a job file, crawled from this process."""

import sys

import typer

from skitter.cli import crawl_flags as flag
from skitter.cli.examples import examples

EXAMPLES = examples(
    "skitter crawl https://example.com",
    "skitter crawl https://example.com --scope domain --depth 3 --pages 1000 --out example.jsonl",
    "skitter crawl https://example.com --include /blog/ --exclude 'sort=' --delay 0.5",
    "skitter crawl https://example.com --out pages.parquet --out pages.sqlite --warc archive",
    "skitter crawl https://example.com --keywords 'solar energy, wind' --order best --time 600",
    "skitter crawl https://example.com --sitemaps only",
    "cat urls.txt | skitter crawl --seeds - --scope any --depth 0 --out pages.jsonl",
    "skitter crawl --job job.toml --quiet --json",
    "skitter crawl https://example.com --workers 3",
    "skitter crawl https://example.com --store redis://10.0.0.5:6379 --out example.jsonl",
)


def crawl(  # noqa: PLR0913, PLR0917  one parameter a flag; the values are read from the context
    ctx: typer.Context,
    urls: flag.Urls = None,
    seeds: flag.Seeds = None,
    job: flag.JobFile = None,
    out: flag.Out = None,
    warc: flag.Warc = None,
    data: flag.Data = None,
    fresh: flag.Fresh = False,
    seen: flag.Seen = None,
    expected: flag.Expected = None,
    scope: flag.Scope = None,
    depth: flag.Depth = None,
    pages: flag.Pages = None,
    time: flag.Time = None,
    total_bytes: flag.TotalBytes = None,
    order: flag.Order = None,
    keywords: flag.Keywords = None,
    sitemaps: flag.Sitemaps = None,
    traps: flag.Traps = None,
    include: flag.Include = None,
    exclude: flag.Exclude = None,
    delay: flag.Delay = None,
    per_host: flag.PerHost = None,
    robots: flag.Robots = None,
    agent: flag.Agent = None,
    contact: flag.Contact = None,
    timeout: flag.Timeout = None,
    max_bytes: flag.MaxBytes = None,
    render: flag.Render = None,
    concurrency: flag.Concurrency = None,
    allow_private: flag.AllowPrivate = None,
    hosts: flag.Hosts = None,
    store: flag.Store = None,
    cold: flag.Cold = None,
    index: flag.Index = None,
    picker: flag.PickerFlag = None,
    workers: flag.Workers = None,
    fast: flag.Fast = None,
    quiet: flag.Quiet = None,
    log_json: flag.LogJson = None,
    json: flag.Json = False,
) -> None:
    """Crawl a site, a list of URLs or what a job file says, and write one record a page.

    Progress is on standard error. Ctrl-C stops gently; the same command goes on from there.

    What became of a page, and why, tells: skitter page URL
    """
    from skitter.cli.request import Request, crawl_on  # noqa: PLC0415  heavy, not for --help

    request = Request(
        urls=tuple(urls or ()),
        seeds=seeds,
        job_file=job,
        fresh=fresh,
        json=json,
        params=ctx.params,
        argv=tuple(sys.argv[1:]),
    )
    raise typer.Exit(crawl_on(request))
