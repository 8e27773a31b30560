"""The command line as a module: `python -m agent.cli`."""

from agent.cli import main

if __name__ == "__main__":
    main()
