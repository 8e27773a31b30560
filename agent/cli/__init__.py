"""The command line: one group, one file a command, what they share in `shell/`."""

from agent.cli.group import main, run_cli

__all__ = ["main", "run_cli"]
