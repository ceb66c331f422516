"""`python -m knowwhen`: the command line, for launchers that start modules."""

from knowwhen.cli.main import main

if __name__ == "__main__":
    main()
