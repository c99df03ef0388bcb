#!/usr/bin/env python3
"""How fast the page's engine computes: a layer of GPT-2 small, T = 4, 1 x 64, forward and backward, in node, against one
core of this machine with the native program's kernels for any processor (app/build.sh portable shardlens-cli), which
have registers of the same width. Both run in turn, and the ratio of each pair counts.

    speed.py NATIVE-CLI [PAIRS]
"""
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ["bench", "step", "--model", "gpt2", "--layer", "--tp", "4", "--batch", "1", "--seq", "64", "--comm", "lockstep",
       "--repetitions", "5"]


def milliseconds(program):
    said = subprocess.run([*program, *RUN], check=True, capture_output=True, text=True).stdout
    return float(re.search(r"forward and backward +([\d.]+) ms median", said).group(1))


def main():
    native = ["taskset", "-c", "0", sys.argv[1]]
    page = ["taskset", "-c", "0", "node", "--no-experimental-fetch", str(ROOT / "build/web/shardlens-cli.js")]
    pairs = [(milliseconds(page), milliseconds(native)) for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 9)]
    ratios = sorted(one / other for one, other in pairs)
    print(f"the page {statistics.median(one for one, _ in pairs):.1f} ms, one core "
          f"{statistics.median(other for _, other in pairs):.1f} ms: {statistics.median(ratios):.2f} times as long "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f} in {len(pairs)} pairs)")


main()
