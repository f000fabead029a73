"""Answers on the screen: pages, parts, the command line. Asks questions; does no SQL and no arithmetic."""
