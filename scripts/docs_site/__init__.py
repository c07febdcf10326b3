"""Builds the documentation site: gathers the pages, has Zensical build them, writes llms.txt, checks what was built."""
