# Compares exported tables with the recording itself, read with SQLite and without our reader: every row, in order,
# with equal times and bytes. Prints the number of rows of each table.
#
#   check_csv.py RECORDING steps.csv collectives.csv memory.csv metrics.csv
import csv
import json
import sqlite3
import sys

recording = sqlite3.connect(sys.argv[1])
steps, collectives, memory, metrics = ([*csv.reader(open(path, newline=""))] for path in sys.argv[2:])
program = json.loads(recording.execute("SELECT value FROM meta WHERE key = 'program'").fetchone()[0])["steps"]


def nanoseconds(seconds):
    whole = round(float(seconds) * 1e9)
    assert seconds == f"{whole / 1e9:.9f}", seconds
    return whole


assert steps[0] == "pass,rank,step,name,op,phase,begin_seconds,end_seconds,flops".split(",")
assert collectives[0] == ("pass,rank,step,name,op,phase,sent_bytes,arrival_seconds,wait_seconds,"
                          "transfer_seconds").split(",")
assert memory[0] == "rank,kind,planned_bytes,high_water_bytes".split(",")
assert metrics[0] == "pass,name,value".split(",")

ranks = recording.execute("SELECT count(DISTINCT rank) FROM costs").fetchone()[0]
wanted = recording.execute(
    "SELECT e.pass, e.rank, e.step, e.begin_ns, e.end_ns, e.arrival_ns, e.met_ns, c.flops, e.sent_bytes FROM events e"
    " JOIN costs c ON c.rank = e.rank % ? AND c.step = e.step ORDER BY 1, 2, 3", (ranks,)).fetchall()
assert len(steps) - 1 == len(wanted), (len(steps), len(wanted))
for row, (index, rank, step, begin, end, *_, flops, _) in zip(steps[1:], wanted):
    assert [int(x) for x in row[:3]] == [index, rank, step], row
    assert row[3] == program[step]["name"], row
    assert [nanoseconds(row[6]), nanoseconds(row[7]), int(row[8])] == [begin, end, flops], row
met = {"all-reduce", "reduce-scatter", "all-gather", "all-to-all"}
wanted = [w for w in wanted if program[w[2]]["op"].startswith(tuple(met))]
assert len(collectives) - 1 == len(wanted) > 0, (len(collectives), len(wanted))
for row, (index, rank, step, _, end, arrival, all_met, _, sent) in zip(collectives[1:], wanted):
    assert [int(x) for x in row[:3]] == [index, rank, step], row
    assert int(row[6]) == sent, row
    assert [nanoseconds(x) for x in row[7:]] == [arrival, all_met - arrival, end - all_met], row

wanted = {(r, k): (p, h) for r, k, p, h in recording.execute("SELECT * FROM memory")}
assert {(int(r), k): (int(p), int(h)) for r, k, p, h in memory[1:]} == wanted
wanted = recording.execute("SELECT pass, name, value FROM metrics ORDER BY pass, name").fetchall()
assert [(int(p), name, float(value)) for p, name, value in metrics[1:]] == wanted
print(json.dumps([len(rows) - 1 for rows in (steps, collectives, memory, metrics)]))
