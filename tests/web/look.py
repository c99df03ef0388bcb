#!/usr/bin/env python3
"""Looks at the page in node and in the three browsers, or in those that are named, and says how much holds in all.

    look.py [node] [chromium] [firefox] [webkit]
"""
import sys

import in_browser
import in_node
from checks import end

WHERE = ["node", "chromium", "firefox", "webkit"]
if unknown := set(sys.argv[1:]) - set(WHERE):
    sys.exit(f"{', '.join(unknown)}: there is no such place; name some of {', '.join(WHERE)}, or none for all")
for where in sys.argv[1:] or WHERE:
    print(f"--- {where}", flush=True)
    in_node.look() if where == "node" else in_browser.look(where)
end()
