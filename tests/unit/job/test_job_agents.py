"""By which name hosts are asked."""

from collections import Counter

from skitter import __version__
from skitter.job.agents import choose_agent
from skitter.job.load import JobSettings, job_from_flags
from skitter.job.parts import Http
from skitter.job.spec import Job
from skitter.politeness.robots import RobotsRules, product_token
from skitter.types import HostKey

HOST = HostKey("a.test")


def test_there_is_one_agent_that_may_name_its_operator() -> None:
    assert Http().agent_for(HOST) == f"Skitter/{__version__}"
    named = Http(contact="https://me.example/bot").agent_for(HOST)
    assert named == f"Skitter/{__version__} (+https://me.example/bot)"
    assert product_token(named) == "Skitter"
    mail = Http(agent="Gentle/2", contact="mailto:me@example.com").agent_for(HOST)
    assert mail == "Gentle/2 (+mailto:me@example.com)"
    whole = "Gentle/2 (+https://me.example/bot)"
    assert Http(agent=whole, contact="https://me.example/bot").agent_for(HOST) == whole


def test_robots_txt_is_obeyed_under_the_same_name_with_a_contact() -> None:
    rules = RobotsRules.parse(b"User-agent: skitter\nDisallow: /no\n\nUser-agent: *\nDisallow: /\n")
    for contact in (None, "https://me.example/bot", "mailto:me@example.com"):
        ours = rules.for_agent(Http(contact=contact).agent_for(HOST))
        assert ours.decide("/yes").allowed
        assert not ours.decide("/no/x").allowed


def test_a_host_always_gets_the_same_of_several_agents() -> None:
    agents = ("One/1", "Two/2", "Three/3")
    hosts = [HostKey(f"h{n}.test") for n in range(300)]
    chosen = Counter(choose_agent(agents, host) for host in hosts)
    assert chosen.keys() == set(agents)
    assert min(chosen.values()) > 60
    job = Job(entries=("http://h0.test/",), http=Http(agents=agents, contact="mailto:me@a.test"))
    again = Job.from_json(job.to_json())
    for host in hosts[:10]:
        expected = f"{choose_agent(agents, host)} (+mailto:me@a.test)"
        assert job.http.agent_for(host) == again.http.agent_for(host) == expected
    # What every machine has to agree on.
    assert [choose_agent(agents, host) for host in hosts[:4]] == [
        "Three/3",
        "Two/2",
        "One/1",
        "Two/2",
    ]


def test_a_jobs_agents_win_over_an_agent_that_is_set_up_for_all_jobs() -> None:
    base = Job.model_validate({"entries": ["http://a.test/"], "http": {"agents": ["One/1"]}})
    job = job_from_flags((), flags=JobSettings(), defaults=JobSettings(agent="Me/1"), base=base)
    assert job.http.agent_for(HOST) == "One/1"
