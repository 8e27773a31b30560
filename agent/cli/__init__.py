"""A door: the command line."""

from agent.cli.command_line import command, main, run_cli

__all__ = ["command", "main", "run_cli"]
