"""All evaluations, and their figures as one page: `python -m evals [--only NAME ...]`."""

from evals.harness import main

if __name__ == "__main__":
    main()
