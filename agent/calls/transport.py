"""The way to the network that models, searches and pages share: certificates, proxies, failures.

It reads the variables that libraries read (`LIBRARY_VARIABLES` of the settings), so that requests
and httpx2, which know different ones, do the same.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

from agent.errors import ExternalCallError, ReadFailed
from agent.state import find_host

if TYPE_CHECKING:
    import requests

CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_DIR")


def load_tls_context(error_class: type[ExternalCallError] = ReadFailed) -> ssl.SSLContext:
    """The TLS context with the certificates that the environment names, else the system's.

    All connections of the process share it, since making it takes 20 ms. Raises `error_class` where
    a variable names what holds no certificates.
    """
    named = tuple((name, path) for name in CERTIFICATES if (path := os.environ.get(name)))
    for name, path in named:
        if not os.access(path, os.R_OK):
            fault = f"{name} names {path}, which cannot be read."
            raise error_class(fault, f"Correct or unset {name}.", outcome="rejected")
    return _load_context(named)


def named_certificates() -> str | None:
    """The first file of certificates that the environment names."""
    return next(filter(None, (os.environ.get(name) for name in CERTIFICATES[:3])), None)


@cache
def _load_context(named: tuple[tuple[str, str], ...]) -> ssl.SSLContext:
    import httpx2
    import requests

    if not named:
        context = httpx2.create_ssl_context(trust_env=False)  # by truststore beyond Linux
        folder = Path(ssl.get_default_verify_paths().openssl_capath)
        is_plain = type(context) is ssl.SSLContext
        if is_plain and not (context.get_ca_certs() or any(folder.glob("*"))):
            context.load_verify_locations(requests.utils.DEFAULT_CA_BUNDLE_PATH)
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for _, path in named:
        context.load_verify_locations(**{"capath" if Path(path).is_dir() else "cafile": path})
    return context


def load_proxies() -> dict[str, str]:
    """The proxy of each scheme that has one, by the environment or the system."""
    named = getproxies()
    found = {s: named.get(s) or named.get("all") or "" for s in ("http", "https")}
    proxies = {s: p if "://" in p else f"http://{p}" for s, p in found.items() if p}
    return {s: p.replace("socks://", "socks5://", 1) for s, p in proxies.items()}


def require_library(proxy: str, error_class: type[ExternalCallError] = ReadFailed) -> str:
    """A proxy. Raises `error_class` for one of SOCKS where the libraries for it are missing."""
    if not proxy.startswith("socks") or all(map(find_spec, ("socks", "socksio"))):
        return proxy
    name = next((_variable(s) for s, p in load_proxies().items() if p == proxy), "ALL_PROXY")
    raise error_class(
        f"{name} names a SOCKS proxy, and the libraries for it are missing.",
        f"pip install 'llm-research-agent[socks]', name hosts in NO_PROXY, or unset {name}.",
        outcome="rejected",
    )


def bypasses_proxy(host: str) -> bool:
    """Whether NO_PROXY, or the system's setting, excludes a host, with its port or without."""
    import requests  # the package first: its modules, imported by threads at once, are half made

    is_bare = host.count(":") > 1 and "[" not in host  # an address of IPv6
    return requests.utils.should_bypass_proxies(
        f"http://[{host}]" if is_bare else f"http://{host}", None
    )


def find_proxy(url: str, error_class: type[ExternalCallError]) -> str | None:
    """The proxy for a URL; None where its host is asked straight. Raises `error_class`."""
    try:
        parts = urlsplit(url)
    except ValueError:  # no URL: the request will say so
        return None
    if bypasses_proxy(parts.netloc.rpartition("@")[2]):
        return None
    proxy = load_proxies().get(parts.scheme)
    return proxy and require_library(proxy, error_class)


def open_session(url: str, error_class: type[ExternalCallError]) -> requests.Session:
    """A session of requests for a URL, which reads no `~/.netrc`. Raises `error_class`."""
    import requests
    from requests.adapters import HTTPAdapter

    class SharedTls(HTTPAdapter):
        def build_connection_pool_key_attributes(self, request, verify, cert=None):  # type: ignore
            host, pool = super().build_connection_pool_key_attributes(request, True, cert)
            return host, {**pool, "ssl_context": load_tls_context(error_class)}

        def cert_verify(self, *_: object) -> None:
            """The context does."""

    session = requests.Session()
    session.trust_env = False
    proxy = find_proxy(url, error_class)
    session.proxies = {"http": proxy, "https": proxy} if proxy else {}
    session.mount("https://", SharedTls())
    return session


def explain_failure(error: BaseException, url: str) -> tuple[str, str]:
    """What happened to a request and what to do, by types alone: texts may hold a key."""
    root = error
    while root.__cause__ or root.__context__:
        root = root.__cause__ or root.__context__  # type: ignore[assignment]
    kind, host, scheme = type(root).__name__, find_host(url), url.partition(":")[0]
    if isinstance(root, ssl.SSLCertVerificationError):
        fault = f"the certificate of {host} is not trusted ({root.verify_message})"
        return fault, "Behind a company's proxy name its certificates with SSL_CERT_FILE."
    if not (proxy := find_proxy(url, ReadFailed)):
        fault = f"the connection to {host} failed ({kind})"
        return fault, "Check the network and the proxy settings."
    name, via = _variable(scheme), urlsplit(proxy).netloc.rpartition("@")[2]
    fault = f"the connection to {host} through {via}, the proxy of {name}, failed ({kind})"
    return fault, f"Check {name}, or name {host} in NO_PROXY."


def _variable(scheme: str) -> str:
    return f"{scheme.upper()}_PROXY" if getproxies().get(scheme) else "ALL_PROXY"
