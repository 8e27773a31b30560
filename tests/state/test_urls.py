"""The addresses that a text names, as people write them."""

from __future__ import annotations

import pytest

from agent.state.urls import find_urls


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Sum up https://example.com/a, please.", ["https://example.com/a"]),
        ("See (https://example.com/x).", ["https://example.com/x"]),
        ("[this](https://example.com/y) and `https://e.org/z`", ["https://example.com/y", "https://e.org/z"]),
        ("Is https://e.org/wiki/Mercury_(planet)?", ["https://e.org/wiki/Mercury_(planet)"]),
        ("“HTTPS://Example.com/up”", ["HTTPS://Example.com/up"]),
        ("总结 https://example.com/a，并比较 https://e.org/b。", ["https://example.com/a", "https://e.org/b"]),
        ("概述https://zh.e.org/红楼梦。", ["https://zh.e.org/红楼梦", "https://zh.e.org/"]),
        ("比较https://e.org/q的区别", ["https://e.org/q的区别", "https://e.org/q"]),
        ("https://[::1]/x", ["https://[::1]/x"]),
        ("https://e.org/" + "!" * 1900, ["https://e.org/"]),
        ("ftp://e.org and www.e.org and https://", []),
    ],
)  # fmt: skip
def test_addresses_of_a_question(text: str, named: list[str]) -> None:
    assert list(find_urls(text)) == named
