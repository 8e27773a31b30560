"""The TLS context of this program's own connections: which servers are believed."""

from __future__ import annotations

import ssl
from functools import cache


def load_tls_context() -> ssl.SSLContext:
    """The TLS context with the trusted certificates of the environment or the system.

    All connections of the process share it, since making it takes 20 ms.
    """
    return _load_context(ssl.get_default_verify_paths())


@cache
def _load_context(_: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """Cached by the paths of the certificates, which the environment may change."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=True)
