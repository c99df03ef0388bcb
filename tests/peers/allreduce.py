"""All-reduces of one machine's ranks, alternating in one run: Shardlens between threads, Open MPI's MPI_Allreduce between
processes over shared memory (mpi_allreduce.c, compiled here by mpicc), and PyTorch's over Gloo.

    python allreduce.py --cli build/shardlens-cli [--ranks 2] [--rounds 3]

Prints, for each size, the middle one of the rounds' medians, and how Shardlens compares with a pass that reads and writes
the same memory once. A peer that is not installed is left out, with a message.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
ROUNDS, BATCH_BYTES, MOST_REPEATS = 40, 8 << 20, 1000  # as `bench allreduce` has them


def shardlens(cli, ranks):
    ran = subprocess.run([cli, "bench", "allreduce", "--tp", str(ranks), "--json"], check=True, capture_output=True)
    points = json.loads(ran.stdout)["allreduce"]
    return {p["tensor_bytes"]: p["median_seconds"] for p in points}, {p["tensor_bytes"]: p["of_pass"] for p in points}


def open_mpi(program, ranks):
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    ran = subprocess.run(["mpirun", "--oversubscribe", "-n", str(ranks), program, *map(str, SIZES)], check=True,
                         capture_output=True, text=True, env=os.environ | as_root)
    return {int(size): float(seconds) for size, seconds in map(str.split, ran.stdout.splitlines())}


def gloo_rank(rank, ranks, meeting, answer):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    found = {}
    for size in SIZES:
        data = torch.zeros(size // 4)
        repeats = max(1, min(BATCH_BYTES // size, MOST_REPEATS))
        seconds = []
        for _ in range(ROUNDS):
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(repeats):
                dist.all_reduce(data)
            seconds.append((time.perf_counter() - begin) / repeats)
        found[size] = statistics.median(seconds)
    if rank == 0:
        Path(answer).write_text(json.dumps(found))
    dist.destroy_process_group()


def gloo(ranks):
    with tempfile.TemporaryDirectory() as folder:
        words = [str(ranks), f"{folder}/meeting", f"{folder}/answer"]
        running = [subprocess.Popen([sys.executable, __file__, "--gloo-rank", str(rank), *words]) for rank in range(ranks)]
        if any([process.wait() for process in running]):
            sys.exit("a rank over Gloo failed")
        return {int(size): seconds for size, seconds in json.loads(Path(words[2]).read_text()).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True, help="a built shardlens-cli")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="how often all of them are run in turn")
    asked = parser.parse_args()
    rounds = {"shardlens": [], "open mpi": [], "gloo": []}
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/mpi_allreduce"
        has_mpi = shutil.which("mpicc") and shutil.which("mpirun")
        if has_mpi:
            source = Path(__file__).with_name("mpi_allreduce.c")
            subprocess.run(["mpicc", "-O2", "-o", program, source], check=True)
        else:
            print("left out: Open MPI, since mpicc and mpirun are not here")
        for _ in range(asked.rounds):
            seconds, share = shardlens(asked.cli, asked.ranks)
            rounds["shardlens"].append(seconds)
            shares.append(share)
            if has_mpi:
                rounds["open mpi"].append(open_mpi(program, asked.ranks))
            rounds["gloo"].append(gloo(asked.ranks))
    print(f"{'bytes':>10} " + "".join(f"{name + ', µs':>16}" for name in rounds) + f"{'of the pass':>14}")
    for size in SIZES:
        row = [statistics.median(one[size] for one in ran) * 1e6 if ran else float("nan") for ran in rounds.values()]
        share = statistics.median(one[size] for one in shares)
        print(f"{size:>10} " + "".join(f"{seconds:>16.1f}" for seconds in row) + f"{share * 100:>12.0f} %")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--gloo-rank"]:
        gloo_rank(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:6])
    else:
        main()
