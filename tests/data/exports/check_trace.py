# Reads an exported trace like a viewer: checks the schema of the format's documented fields, then the format's rules
# for slices and flows. Prints what it found as one JSON object; an AssertionError says what is wrong.
#
#   check_trace.py TRACE.json SCHEMA.json
import collections
import json
import sys

import jsonschema

trace = json.load(open(sys.argv[1]))
jsonschema.validate(trace, json.load(open(sys.argv[2])))
events = trace["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]


def nanoseconds(microseconds):
    whole = round(microseconds * 1000)
    assert abs(microseconds * 1000 - whole) < 1e-3, f"{microseconds} us is no whole nanosecond"
    return whole


# Every process that has slices is named and has its place; every thread is named.
named = {name: {(e["pid"], e.get("tid")) for e in events if e["ph"] == "M" and e["name"] == name}
         for name in ("process_name", "process_sort_index", "thread_name")}
processes = {e["pid"] for e in slices}
for pid in processes:
    assert (pid, None) in named["process_name"] and (pid, None) in named["process_sort_index"], pid
assert {(e["pid"], e["tid"]) for e in slices} <= named["thread_name"]
ordered = sorted((e["args"]["sort_index"], e["pid"]) for e in events if e["name"] == "process_sort_index")
assert [pid for _, pid in ordered] == sorted(processes)

# On one thread a slice is over before the next begins.
tracks = collections.defaultdict(list)
for e in slices:
    begin = nanoseconds(e["ts"])
    tracks[e["pid"], e["tid"]].append((begin, begin + nanoseconds(e["dur"]), e["name"], e["cat"]))
for track in tracks.values():
    track.sort()
    for before, after in zip(track, track[1:]):
        assert before[1] <= after[0], f"{before} overlaps {after}"


def enclosing(e):
    at = nanoseconds(e["ts"])
    return [s for s in tracks[e["pid"], e["tid"]] if s[0] <= at < s[1]]


# A flow begins once and ends once, later and on another process, and each end lies in a slice of its collective.
flows = collections.defaultdict(dict)
for e in events:
    if e["ph"] in "sf":
        assert e["ph"] not in flows[e["id"]], f"flow {e['id']} has two ends {e['ph']}"
        flows[e["id"]][e["ph"]] = e
collectives = collections.Counter()
for flow_id, ends in flows.items():
    assert set(ends) == {"s", "f"}, f"flow {flow_id} has only {set(ends)}"
    start, finish = ends["s"], ends["f"]
    assert start["pid"] != finish["pid"] and nanoseconds(start["ts"]) <= nanoseconds(finish["ts"]), ends
    assert (start["cat"], start["name"]) == (finish["cat"], finish["name"]), ends
    for end in ends.values():
        around = enclosing(end)
        assert len(around) == 1 and around[0][2:] == (end["name"], "collective"), f"{end} lies in {around}"
    collectives[start["name"]] += 1

print(json.dumps({"slices": len(slices), "processes": len(processes), "flows": len(flows),
                  "collectives": sum(e["cat"] == "collective" for e in slices)}))
