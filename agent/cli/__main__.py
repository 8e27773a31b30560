"""The command line for programs: `python -m agent.cli` prints JSON on a terminal too."""

from agent.cli import main

if __name__ == "__main__":
    main(for_people=False)
