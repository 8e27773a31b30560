"""Redaction of secrets in the report: no part of a key is shown, even if a service echoes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent.doctor.results import Check

#: Length of the substrings of a secret that are redacted in texts: services echo a key's last four
#: characters.
TEXT_LENGTH = 4
#: The same for names of checks, case-insensitively: a model may share four characters with a key.
NAME_LENGTH = 8
SECRET_SUFFIXES = ("KEY", "KEY_ID", "TOKEN", "SECRET", "PASSWORD", "APP_ID")  # of environment names


def find_secrets(environment: Mapping[str, str]) -> list[str]:
    """The secrets of an environment: keys and the like by their names, and passwords in URLs."""
    secrets = [
        value for name, value in environment.items() if name.upper().endswith(SECRET_SUFFIXES)
    ]
    for value in environment.values():
        secrets += re.findall(r"://[^/@\s]*:([^/@\s]+)@", value)
    return [value.strip() for value in secrets if len(value.strip()) >= TEXT_LENGTH]


def redact(checks: Iterable[Check], secrets: Sequence[str]) -> list[Check]:
    """Replace every word that contains a substring of a secret by `[hidden]`.

    A word of a detail or a remedy is replaced if it shares TEXT_LENGTH successive characters with a
    secret, or NAME_LENGTH regardless of case. Of names, which a user chooses, only the latter is
    replaced.
    """
    short = set(_substrings(secrets, TEXT_LENGTH))
    long = set(_substrings([secret.casefold() for secret in secrets], NAME_LENGTH))

    def mask(text: str, substrings: Iterable[str] = ()) -> str:
        return " ".join(
            "[hidden]"
            if any(substring in word for substring in substrings)
            or any(substring in word.casefold() for substring in long)
            else word
            for word in text.split(" ")
        )

    return [
        check._replace(
            name=mask(check.name),
            detail=mask(check.detail, short),
            remedy=mask(check.remedy, short),
        )
        for check in checks
    ]


def _substrings(secrets: Iterable[str], length: int) -> Iterator[str]:
    """All substrings of this length; a secret that is shorter as a whole."""
    for secret in secrets:
        for i in range(max(1, len(secret) - length + 1)):
            yield secret[i : i + length]
