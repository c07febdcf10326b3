"""`python -m voiceagent` is the command line."""

from voiceagent.cli import main

main()
