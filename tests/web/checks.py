"""What has to hold: says each thing, and ends with how many do not."""
import sys

failures = []


def check(what, holds, why=""):
    print(f"{'ok    ' if holds else 'FAILED'}  {what}" + ("" if holds else f": {why}"))
    if not holds:
        failures.append(what)


def end(remark=""):
    print(f"{len(failures)} failed{remark}")
    sys.exit(1 if failures else 0)
