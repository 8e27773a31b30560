"""SSH signatures (SSHSIG) of data, made and checked by the user's own OpenSSH.

`ssh-keygen` knows keys of every kind: with a passphrase, in an agent, on a security key. No key is
read here. https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from agent.errors import UsageError
from agent.state.json_data import Json

NAMESPACE = "research-agent"  # a signature for another purpose is none of an export
TIMEOUT = 120.0  # seconds: a passphrase is typed, a security key is touched
ALLOWED_SIGNERS = Path("~/.ssh/allowed_signers")
_KEY = re.compile(r"with (\S+) key (SHA256:\S+)")


class BadSignature(Exception):
    """A signature that does not hold, or cannot be checked, in words."""


def sign(data: bytes, key: Path) -> bytes:
    """The signature of data by a key: a private one, or a public one whose other half an agent has.

    Raises UsageError where it cannot be made.
    """
    try:
        done = _run("sign", "-f", str(key.expanduser()), data=data)
    except OSError:
        raise UsageError("ssh-keygen is not installed.", "Install OpenSSH, which signs.") from None
    if done.returncode:
        fault = f"{key} does not sign: {_last_line(done)}"
        raise UsageError(fault, "Name a key of ssh-keygen: --sign ~/.ssh/id_ed25519")
    return done.stdout


def verify(data: bytes, signature: bytes, signers: Path | None = None) -> Json:
    """`{"key", "by"}`: the fingerprint of the key, and whose it is, null where nobody says so.

    `signers`: a file of allowed signers, as of ssh-keygen(1); None: the user's own, if there is
    one. Raises BadSignature.
    """
    named = signers or ALLOWED_SIGNERS.expanduser()
    with tempfile.NamedTemporaryFile() as file:
        file.write(signature)
        file.flush()
        try:
            checked = _run("check-novalidate", "-s", file.name, data=data)
            if checked.returncode:
                raise BadSignature(f"it does not hold: {_last_line(checked)}")
            found = _run("find-principals", "-s", file.name, "-f", str(named), data=b"")
        except OSError:
            raise BadSignature("it cannot be checked: ssh-keygen is not installed") from None
    name = found.stdout.decode("utf-8", "replace").strip().partition("\n")[0]
    if signers and not name:
        raise BadSignature(f"{signers} does not name who signed it")
    told = _KEY.search(checked.stdout.decode("utf-8", "replace"))
    return {"key": f"{told[1]} {told[2]}" if told else "", "by": name or None}


def _run(task: str, *options: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    """Raises OSError where there is no ssh-keygen, UsageError if it waits for too long."""
    space = () if task == "find-principals" else ("-n", NAMESPACE)
    command = ["ssh-keygen", "-Y", task, *space, *options]
    try:
        return subprocess.run(command, input=data, capture_output=True, timeout=TIMEOUT)  # noqa: S603 - its own arguments
    except subprocess.TimeoutExpired:
        raise UsageError("ssh-keygen gave no answer.", "Try it by hand.") from None


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else "it did not say why"
