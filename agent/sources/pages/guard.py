"""Which addresses a page may be read from: public ones, whatever they are spelled like.

The check is made where the connection is made, on the very address that is then connected to, so
that redirects, odd spellings and a second DNS answer change nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from agent.errors import ReadFailed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
#: A name and a port in, every address of that name out. Raises OSError.
Resolve = Callable[[str, int], list[str]]

PORTS = {"http": 80, "https": 443}
#: What Python 3.11 calls global and is not, or not only; RFC 6890 and the IANA registries.
SPECIAL_V4 = tuple(
    ipaddress.IPv4Network(block)
    for block in "192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 100.64.0.0/10 240.0.0.0/4".split()
)
UNICAST_V6 = ipaddress.IPv6Network("2000::/3")  # all that IANA ever gave out
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address
#: IETF protocols (Teredo among them), documentation, 6to4, documentation.
SPECIAL_V6 = tuple(
    ipaddress.IPv6Network(block) for block in "2001::/23 2001:db8::/32 2002::/16 3fff::/20".split()
)

REMEDY = "Set ALLOW_PRIVATE_NETWORK=1 to read pages of your own network."


def public(address: Address) -> bool:
    """Whether an address is one that the whole internet reaches.

    Tunnels that carry an IPv4 address inside are refused, but for NAT64 (RFC 6052), by which
    IPv6-only networks reach every ordinary page: there the address inside decides.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address in NAT64:
            return public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        return (
            address in UNICAST_V6
            and address.is_global
            and not any(address in block for block in SPECIAL_V6)
        )
    return (
        address.is_global
        and not address.is_multicast
        and not any(address in block for block in SPECIAL_V4)
    )


def resolve(host: str, port: int) -> list[str]:
    """Every address of a name, best first, as the system's resolver gives them."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


def local_name(host: str) -> bool:
    """Whether a name means this machine whatever DNS says (RFC 6761)."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith((".localhost", ".localdomain"))


class Guard:
    """Decides what may be connected to. `allow_private` leaves only the check of the scheme.

    `allowed` are addresses with their ports that may be connected to although they are private.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        allowed: frozenset[tuple[str, int]] = frozenset(),
        resolver: Resolve = resolve,
    ) -> None:
        self._allow_private = allow_private
        self._allowed = allowed
        self._ports = {*PORTS.values(), *(port for _, port in allowed)}
        self._resolve = resolver

    def check(self, url: str) -> None:
        """Refuse what needs no DNS to refuse: scheme, credentials, port, a name of this machine.

        Raises ReadFailed, `forbidden`.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise refused(url[:200], "it is not a valid address") from None
        if parts.scheme not in PORTS:
            raise refused(host or url[:200], f"only http and https are read, not {_said(parts[0])}")
        if not host:
            raise refused(url[:200], "it names no host")
        if not self._allow_private:
            self._check_strictly(host, port, "@" in parts.netloc, PORTS[parts.scheme])

    def _check_strictly(self, host: str, port: int | None, credentials: bool, usual: int) -> None:
        if credentials:
            raise refused(host, "an address with a user name or a password is not read")
        if (port or usual) not in self._ports:
            raise refused(host, f"port {port} is not one of the web's", REMEDY)
        if local_name(host):
            raise refused(host, "it names this machine", REMEDY)

    def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a name, all of which may be connected to.

        One that may not refuses them all: a name that points inside and outside is an attack.
        Raises ReadFailed, `forbidden`; OSError from the resolver.
        """
        if self._allow_private:
            return self._resolve(host, port)
        self._check_strictly(host, port, False, port)
        found = self._resolve(host, port)
        if not all((address, port) in self._allowed or _is_public(address) for address in found):
            raise refused(host, "it is not on the public internet", REMEDY)
        return found


def _is_public(text: str) -> bool:
    try:
        return public(ipaddress.ip_address(text))
    except ValueError:  # a scope (`fe80::1%eth0`) is a link's own, anything else is no address
        return False


def _said(scheme: str) -> str:
    return scheme[:20] or "an address without a scheme"


def refused(host: str, reason: str, remedy: str = "") -> ReadFailed:
    """The error that says why an address is not read."""
    return ReadFailed(f"{host}: refused, {reason}.", remedy, outcome="forbidden")
