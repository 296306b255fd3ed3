"""`python -m wordtide` is the command `wordtide`."""

from wordtide.cli.app import main

if __name__ == "__main__":
    main()
