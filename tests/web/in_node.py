#!/usr/bin/env python3
"""The page's engine in node, held against the native program: plans to the byte, every lesson, a layer against T = 1."""
import json
import pathlib
import subprocess

from checks import check, end

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODE = ["node", "--no-experimental-fetch", str(ROOT / "build/web/shardlens-cli.js")]
NATIVE = [str(ROOT / "build/shardlens-cli")]


def run(program, *words):
    return subprocess.run(program + list(words), capture_output=True, text=True, timeout=600)


def plan_of(program, words):
    answer = run(program, "plan", *words, "--json")
    if answer.returncode != 0:
        return answer.stderr
    plan = json.loads(answer.stdout)
    plan.pop("plan_seconds")  # measured
    return json.dumps(plan)


def look():
    for model in ("gpt2", "gpt2-tiny", "bert-base", "megatron-8.3b"):
        for split in ("megatron", "reversed", "megatron-sp"):
            words = ["--model", model, "--tp", "4", "--split", split, "--hardware", "h100-80gb"]
            ours, native = plan_of(NODE, words), plan_of(NATIVE, words)
            check(f"plan {model} {split}: the same bytes", ours == native, f"{ours[:200]} … {native[:200]}")

    for lesson in sorted((ROOT / "assets/lessons").glob("*.md")):
        answer = run(NODE, "lesson", lesson.stem, "--check")
        check(f"lesson {lesson.stem}", answer.returncode == 0, answer.stdout[-300:] + answer.stderr[-300:])

    for words in (["--model", "gpt2-tiny", "--layer", "--tp", "4", "--dtype", "fp64"],
                  ["--model", "gpt2-tiny", "--tp", "2", "--split", "reversed"],
                  ["--model", "gpt2-tiny", "--tp", "2", "--dtype", "bf16"]):
        answer = run(NODE, "verify", *words)
        check("verify " + " ".join(words), answer.returncode == 0, answer.stdout[-300:] + answer.stderr[-300:])

    for words, part in ((["plan", "--model", "gpt2", "--tp", "5"], "5"),
                        (["step", "--comm", "mpi", "--model", "gpt2-tiny"], "mpi"),
                        (["verify", "--backend", "cuda", "--model", "gpt2-tiny"], "page")):
        answer = run(NODE, *words)
        check("refused: " + " ".join(words), answer.returncode == 2 and part in answer.stderr, answer.stderr[-300:])


if __name__ == "__main__":
    look()
    end()
