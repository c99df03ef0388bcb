"""The peak memory of PyTorch's training step (the step of speed.py), to compare with the plan and the resident peak
that `shardlens-cli bench step` prints for the same model, batch and sequence.

There are two counts, each in its own process. Tensors: the most bytes that PyTorch's allocator had given out at once
during a step, by its own profiler; compare it with a plan of arenas. Resident: the most that the process held during a
step, minus what it held after torch was imported, its threads had started and the tokens were drawn. So it contains
everything that the step adds, with the libraries' scratch, but not the interpreter and the libraries themselves. Both
are taken in the third step, when the gradients and the optimizer's state exist.

    python memory.py [--threads 2] [--batch 4] [--seq 256] [--compiled]
"""

import argparse
import json
import subprocess
import sys
import tempfile

import torch
from torch import nn

from speed import Gpt2, Size

WARM_UPS = 2
SIZE = Size("gpt2")


def resident(field):
    """Bytes the system says of this process: VmRSS now, VmHWM at most since the peak was reset."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field + ":"))


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def training_step(compiled, tokens):
    torch.manual_seed(1)
    model = Gpt2(SIZE)
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() == 2], "weight_decay": 0.01},
              {"params": [p for p in parameters if p.dim() != 2], "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=1e-4, fused=True)
    forward = torch.compile(model) if compiled else model

    def step():
        adam.zero_grad(set_to_none=True)
        forward(tokens[:, :-1], tokens[:, 1:]).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        adam.step()

    return step


def most_resident(compiled, tokens):
    torch.mm(torch.randn(512, 512), torch.randn(512, 512))  # starts the threads
    before = resident("VmRSS")
    step = training_step(compiled, tokens)
    for _ in range(WARM_UPS):
        step()
    reset_peak()
    step()
    return resident("VmHWM") - before


def most_tensors(compiled, tokens):
    """The allocator counts only while it is profiled, so everything is, and the trace says when the last step was."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step = training_step(compiled, tokens)
        for _ in range(WARM_UPS):
            step()
        with torch.profiler.record_function("the step"):
            step()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profile.export_chrome_trace(file.name)
        with open(file.name) as trace:
            events = json.load(trace)["traceEvents"]
    last = next(event for event in events if event.get("name") == "the step" and "dur" in event)
    return max(event["args"]["Total Allocated"] for event in events
               if event.get("name") == "[memory]" and last["ts"] <= event["ts"] <= last["ts"] + last["dur"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("threads", 2), ("batch", 4), ("seq", 256)):
        parser.add_argument("--" + option, type=int, default=default)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--count", choices=["tensors", "resident"], help=argparse.SUPPRESS)  # in a process of its own
    arguments = parser.parse_args()
    if arguments.count:
        torch.set_num_threads(arguments.threads)
        tokens = torch.randint(SIZE.vocab, (arguments.batch, arguments.seq + 1))
        print((most_tensors if arguments.count == "tensors" else most_resident)(arguments.compiled, tokens))
        return
    print(f"PyTorch {torch.__version__}, {'compiled' if arguments.compiled else 'eager'}, {arguments.threads} threads, "
          f"GPT-2 124M, batch {arguments.batch}, sequence {arguments.seq}, fp32, clipping and AdamW")
    for count, what in (("tensors", "tensors at most"), ("resident", "resident at most, over the state after import")):
        bytes_ = int(subprocess.run([sys.executable, *sys.argv, "--count", count], check=True, text=True,
                                    stdout=subprocess.PIPE).stdout)
        print(f"{what}: {bytes_:,} bytes = {bytes_ / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
