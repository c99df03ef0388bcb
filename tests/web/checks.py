"""What has to hold: says each thing, and ends with how many hold, do not, and could not be looked at."""
import sys

passed, failed, skipped = [], [], []


def check(what, holds, why=""):
    print(f"{'ok    ' if holds else 'FAILED'}  {what}" + ("" if holds else f": {why}"), flush=True)
    (passed if holds else failed).append(what)


def skip(what, why):
    print(f"skipped {what}: {why}", flush=True)
    skipped.append(what)


def end():
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    sys.exit(1 if failed else 0)
