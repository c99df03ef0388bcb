#!/usr/bin/env python3
"""Makes the page: puts the program and its JavaScript, packed, into their places of page.html.

    pack.py PAGE.html PROGRAM.wasm PROGRAM.js OUT.html
"""
import base64
import gzip
import pathlib
import sys


def packed(path):
    # Without the time, so that the same program makes the same page. HTML would take a "<" (page.html, bytes_of()).
    zipped = gzip.compress(pathlib.Path(path).read_bytes(), 9, mtime=0)
    return base64.b85encode(zipped).decode().replace("<", ",")


def main():
    page, program, glue, out = sys.argv[1:]
    text = pathlib.Path(page).read_text()
    for place, path in (("@PROGRAM@", program), ("@GLUE@", glue)):
        if text.count(place) != 1:
            sys.exit(f"{page}: {place} must stand in it once")
        text = text.replace(place, packed(path))
    pathlib.Path(out).write_text(text)
    print(f"{out}: {len(text) / 1e6:.2f} MB")


main()
