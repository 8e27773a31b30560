"""Which addresses a page may be read from: public ones only (protection against SSRF).

The check is made where the connection is opened, on the IP address that is then connected to. So
redirects, unusual spellings of an address and DNS rebinding cannot get around it.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from agent.errors import ReadFailed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
#: From a host name and a port to every IP address of that name. Raises OSError.
Resolver = Callable[[str, int], list[str]]

DEFAULT_PORTS = {"http": 80, "https": 443}
#: Special-purpose blocks that Python 3.11 counts as global, in whole or in part: RFC 6890 and the
#: IANA registries.
SPECIAL_PURPOSE_V4 = tuple(
    ipaddress.IPv4Network(block)
    for block in "192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 100.64.0.0/10 240.0.0.0/4".split()
)
GLOBAL_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")  # all that IANA has allocated
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address
#: IETF protocols (Teredo among them), documentation, 6to4, documentation.
SPECIAL_PURPOSE_V6 = tuple(
    ipaddress.IPv6Network(block) for block in "2001::/23 2001:db8::/32 2002::/16 3fff::/20".split()
)

#: The last parts of names that no public DNS has: RFC 6762 and 8375, ICANN's `internal`, habits.
PRIVATE_NAMES = frozenset("local internal intranet private corp home lan arpa localdomain".split())

_DOTS = re.compile("[\u3002\uff0e\uff61]")  # that international names are written with

REMEDY = "Set ALLOW_PRIVATE_NETWORK=1 to read pages of your own network."


def is_public_address(address: Address) -> bool:
    """Whether an address is reachable from the whole internet.

    IPv6 addresses that embed an IPv4 address are refused, except those of NAT64 (RFC 6052), by
    which IPv6-only networks reach every IPv4 host. There the embedded address decides.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address in NAT64:
            return is_public_address(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        return (
            address in GLOBAL_UNICAST_V6
            and address.is_global
            and not any(address in block for block in SPECIAL_PURPOSE_V6)
        )
    return (
        address.is_global
        and not address.is_multicast
        and not any(address in block for block in SPECIAL_PURPOSE_V4)
    )


def resolve(host: str, port: int) -> list[str]:
    """Every IP address of a host name, in the order of preference of the system's resolver."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


def is_local_name(host: str) -> bool:
    """Whether a host name means this machine, whatever DNS answers (RFC 6761)."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith((".localhost", ".localdomain"))


def may_be_public(host: str) -> bool:
    """Whether a name that has no address could be one of the public internet."""
    name = host.rstrip(".").lower()
    return "." in name and name.rpartition(".")[2] not in PRIVATE_NAMES


def parse_literal(host: str) -> Address | None:
    """The IP address that a host spells out, also as C libraries read it (`0x7f.1`), else None.

    An address with a scope is one of the local link, whatever it says.
    """
    name = _DOTS.sub(".", unicodedata.normalize("NFKC", unquote(host))).strip("[]").rstrip(".")
    try:
        address, _, scope = name.partition("%")
        return ipaddress.ip_address("fe80::1" if scope else address)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name))
    except (OSError, ValueError):  # a ValueError for what is not ASCII, or has a NUL
        return None


class AddressGuard:
    """Decides what may be connected to.

    `allow_private` turns off every check except those of scheme and syntax. `allowed` are pairs of
    a private IP address and a port that may be connected to nevertheless; their ports are allowed
    for every host.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        allowed: frozenset[tuple[str, int]] = frozenset(),
        resolver: Resolver = resolve,
    ) -> None:
        self._allow_private = allow_private
        self._allowed = allowed
        self._ports = {*DEFAULT_PORTS.values(), *(port for _, port in allowed)}
        self._resolve = resolver

    def check_url(self, url: str) -> None:
        """Make the checks that need no DNS: scheme, credentials, port, this machine, IP addresses.

        Raises ReadFailed, `forbidden`.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise _build_refusal(url[:200], "it is not a valid address") from None
        if parts.scheme not in DEFAULT_PORTS:
            reason = f"only http and https are read, not {_scheme_label(parts.scheme)}"
            raise _build_refusal(host or url[:200], reason)
        if not host:
            raise _build_refusal(url[:200], "it names no host")
        if not self._allow_private:
            self._check_host(host, port, "@" in parts.netloc, DEFAULT_PORTS[parts.scheme])

    def _check_host(
        self, host: str, port: int | None, has_credentials: bool, default_port: int
    ) -> None:
        if has_credentials:
            raise _build_refusal(host, "an address with a user name or a password is not read")
        if (port or default_port) not in self._ports:
            raise _build_refusal(host, f"port {port} is not 80 or 443", REMEDY)
        if is_local_name(host):
            raise _build_refusal(host, "it names this machine", REMEDY)
        address = parse_literal(host)
        is_allowed = (str(address), port or default_port) in self._allowed
        if address is not None and not is_allowed and not is_public_address(address):
            raise _build_refusal(host, "it is not on the public internet", REMEDY)

    def check_public(self, url: str) -> None:
        """Raise ReadFailed for an address that may not be disclosed to others: not a public one.

        Also where private addresses may be read. There a name without an address is refused too:
        it may be of an intranet.
        """
        strict = AddressGuard(allowed=self._allowed, resolver=self._resolve)
        strict.check_url(url)
        parts = urlsplit(url)
        host = parts.hostname or ""
        try:
            strict.resolve_and_check(host, parts.port or DEFAULT_PORTS[parts.scheme])
        except (OSError, UnicodeError):
            if self._allow_private or not may_be_public(host):
                raise _build_refusal(host, "only public addresses are given to others") from None

    def resolve_and_check(self, host: str, port: int) -> list[str]:
        """The IP addresses of a host name, all of which may be connected to.

        One address that may not be connected to refuses the name: a name with public and private
        addresses is an attack. Raises ReadFailed, `forbidden`; OSError from the resolver.
        """
        if self._allow_private:
            return self._resolve(host, port)
        self._check_host(host, port, False, port)
        addresses = self._resolve(host, port)
        if not all((a, port) in self._allowed or _is_public_literal(a) for a in addresses):
            raise _build_refusal(host, "it is not on the public internet", REMEDY)
        return addresses


def _is_public_literal(text: str) -> bool:
    try:
        return is_public_address(ipaddress.ip_address(text))
    except ValueError:  # no IP address, or one with a scope (`fe80::1%eth0`), which is link-local
        return False


def _scheme_label(scheme: str) -> str:
    return scheme[:20] or "an address without a scheme"


def _build_refusal(host: str, reason: str, remedy: str = "") -> ReadFailed:
    return ReadFailed(f"{host}: refused, {reason}.", remedy, outcome="forbidden")
