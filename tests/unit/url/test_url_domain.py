import pytest

from skitter.url.domain import is_address, registered_domain


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("www.gov.example.co.uk", "example.co.uk"),
        ("news.sc.gov.cn", "sc.gov.cn"),
        ("ana.github.io", "ana.github.io"),
        ("x.ana.github.io", "ana.github.io"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("a.shop.nagoya.jp", "a.shop.nagoya.jp"),
        ("host.corp.internalnet", "corp.internalnet"),
        ("a.example.com.", "example.com"),
        ("www.xn--fiq228c.xn--fiqs8s", "xn--fiq228c.xn--fiqs8s"),
        ("www.中文.中国", "中文.中国"),
    ],
)
def test_the_registered_domain_is_one_label_more_than_the_public_suffix(
    host: str, domain: str
) -> None:
    assert registered_domain(host) == domain


@pytest.mark.parametrize(
    "host", ["com", "co.uk", "github.io", "localhost", "127.0.0.1", "[::1]", "xn--fiqs8s", "", "."]
)
def test_addresses_suffixes_and_single_labels_have_none(host: str) -> None:
    assert registered_domain(host) is None


def test_addresses_are_told_from_names() -> None:
    assert is_address("10.0.0.1")
    assert is_address("[2001:db8::1]")
    assert not is_address("4chan.example")
    assert not is_address("example.web3")
