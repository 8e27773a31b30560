"""The proxies of the environment or of the system, as curl and requests take them."""

from __future__ import annotations

from urllib.request import getproxies, proxy_bypass


def load_proxies() -> dict[str, str]:
    """The proxy of each scheme that has one."""
    settings = getproxies()
    proxies = {scheme: settings.get(scheme) or settings.get("all") for scheme in ("http", "https")}
    return {s: p if "://" in p else f"http://{p}" for s, p in proxies.items() if p}


def bypasses_proxy(host: str) -> bool:
    """Whether `no_proxy`, or the system's setting, excludes a host."""
    return bool(proxy_bypass(host))
