#!/usr/bin/env python3
"""Checks the machine code of the kernels for few tokens, without a GPU: what their speed rests on.

    tests/machine_code/token_kernels.py [FOLDER]      FOLDER: for what is compiled; else a temporary one

It needs nvcc of CUDA 13 (in PATH, CUDA_HOME or /usr/local/cuda, or `pip install nvidia-cuda-nvcc nvidia-cuda-crt
nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl`), and cuobjdump and nvdisasm, which a toolkit has or
`pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm`. Where one of them is missing it says so and ends with 77.

For each kernel, compiled for sm_80 and sm_90:
  - nothing is spilled, and as many blocks fit on a multiprocessor as the kernel is written for;
  - a thread asks for all its copies of W before it waits for one; so many bytes are under way on the GPU;
  - only sm_90 has the instructions with which a kernel begins before the one before it has ended;
  - a product has one fused multiply-add for each row and element of W that it has at once.
And for the products of a token of megatron-1.2b: all blocks of each fit on an H100 at once.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
THREADS, COPIES, SLICE_ROWS, PACK_BYTES, PACKS = 128, 12, 192, 16, 8  # token_product.cu
W_BYTES = THREADS * COPIES * PACK_BYTES
# Of a multiprocessor: registers, bytes of shared memory, and bytes of it that each block takes besides what
# cuobjdump reports.
REGISTERS = 65536
RESERVED = {"sm_80": 1024, "sm_90": 0}
SHARED = {"sm_80": 164 << 10, "sm_90": 228 << 10}
H100_MULTIPROCESSORS = 132
# Bytes that must be under way on a multiprocessor: 4.6 MB on the whole GPU hide a microsecond at 4.6 TB/s.
UNDER_WAY = 35e3
HIDDEN, FFN = 1536, 6144  # megatron-1.2b


def tool(name):
    places = [shutil.which(name)]
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda", *(f"{p}/nvidia/cu13" for p in sys.path)):
        places.append(f"{home}/bin/{name}" if home else None)
    for place in places:
        if place and Path(place).is_file():
            return place
    print(f"skipped: there is no {name} in PATH, CUDA_HOME, /usr/local/cuda or a Python package; "
          f"see the head of {Path(__file__).name}")
    sys.exit(SKIPPED)


def output_of(*command):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def kernels(source, target, folder, tools):
    """The kernels of a source, by mangled name: registers, bytes, the instructions in order, and the longest loop."""
    cubin = folder / f"{source}.{target}.cubin"
    output_of(tools["nvcc"], "-std=c++20", "-O3", f"-arch={target}", "-fmad=false", "-I.", "-cubin", "-o", cubin,
              f"engine/device/cuda/{source}.cu")
    found = {}
    usage = output_of(tools["cuobjdump"], "-res-usage", cubin)
    for name, numbers in re.findall(r"Function (\S+):\s*\n\s*(REG:.*)", usage):
        words = dict(re.findall(r"(REG|STACK|SHARED|LOCAL):(\d+)", numbers))
        found[name] = {key: int(value) for key, value in words.items()}
    listing = output_of(tools["nvdisasm"], "-c", cubin)
    for part in re.split(r"^\s*\.section\s+\.text\.", listing, flags=re.M)[1:]:
        name = part.split(",", 1)[0].strip()
        if name in found:
            found[name]["code"] = re.findall(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", part)
            found[name]["loop"] = longest_loop(part)
    return found


def longest_loop(listing):
    """The instructions between a label and the last branch back to it, for the label with the most of them."""
    code, labels, longest = [], {}, []
    for line in listing.splitlines():
        label = re.match(r"(\.L_\w+):", line)
        if label:
            labels[label.group(1)] = len(code)
        step = re.search(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)", line)
        if not step:
            continue
        code.append(step.group(1))
        target = re.search(r"`\((\.L_\w+)\)", step.group(2))
        if step.group(1).startswith("BRA") and target and target.group(1) in labels:
            loop = code[labels[target.group(1)]:]
            longest = max(longest, loop, key=len)
    return longest


def facts(name):
    """Kind, element's bytes and rows of a kernel, from its mangled name."""
    kind = re.search(r"(token_product|turned_product|token_attention)_kernel", name).group(1)
    half = "__half" in name or "__nv_bfloat16" in name
    rows = re.search(r"_kernelI(?:f|6__half|13__nv_bfloat16)Li(\d+)E", name)
    return kind, 2 if half else 4, int(rows.group(1)) if rows else 1


def shared_bytes(kind, size, rows):
    """The dynamic shared memory of a block."""
    cols = PACKS * PACK_BYTES // size
    if kind == "token_product":
        return W_BYTES + rows * SLICE_ROWS * 4 + THREADS // 32 * rows * cols * 4
    if kind == "turned_product":
        return W_BYTES
    packs = 96 * size // PACK_BYTES  # heads of megatron-1.2b
    return ((packs + 5) // 8 * 8 + 2 + packs) * 64 * PACK_BYTES


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    tools = {name: tool(name) for name in ("nvcc", "cuobjdump", "nvdisasm")}
    wrong = []
    print(f"{'GPU':6} {'kernel':18} {'element':>7} {'rows':>4} {'registers':>9} {'shared':>7} {'blocks':>6} "
          f"{'under way':>10}")
    for target in ("sm_80", "sm_90"):
        for source in ("token_product", "token_attention"):
            for name, kernel in kernels(source, target, folder, tools).items():
                kind, size, rows = facts(name)
                code, normed = kernel["code"], "NormedRows" in name
                words = f"{kind}{' with LayerNorm' if normed else ''}, {size} bytes, {rows} rows, {target}"
                expect = lambda holds, what: wrong.append(f"{words}: {what}") if not holds else None
                shared = shared_bytes(kind, size, rows) + kernel["SHARED"]
                # Registers are given out to warps in eights.
                registers = (kernel["REG"] + 7) // 8 * 8
                by_registers = REGISTERS // (registers * THREADS)
                blocks = min(by_registers, SHARED[target] // (shared + RESERVED[target]))
                first_wait = next((i for i, op in enumerate(code) if op.startswith(("DEPBAR", "LDGDEPBAR"))), 0)
                copies = sum(op.startswith("LDGSTS") for op in code[:first_wait])
                under_way = blocks * copies * THREADS * PACK_BYTES
                print(f"{target:6} {kind + ('+norm' if normed else ''):18} {size:7} {rows:4} {kernel['REG']:9} "
                      f"{shared:7} {blocks:6} {under_way if kind != 'token_attention' else '-':>10}")
                expect(kernel["LOCAL"] == 0 and kernel["STACK"] == 0 and
                       not any(op.startswith(("STL", "LDL")) for op in code), "registers are spilled")
                early = [op for op in code if op.startswith(("ACQBULK", "PREEXIT"))]
                expect((len(set(early)) == 2) == (target == "sm_90") and bool(early) == (target == "sm_90"),
                       f"begins early by {early}")
                if kind == "token_attention":
                    continue
                expect(by_registers >= (8 if rows <= 2 else 4), f"registers leave room for {by_registers} blocks")
                expect(copies == COPIES, f"asks for {copies} copies before it waits")
                expect(under_way >= UNDER_WAY, f"{under_way} bytes are under way")
                products = sum(op.startswith("FFMA") for op in code)
                # The loop over the copies of a transposed W is not unrolled: those of two columns.
                at_once = COPIES if kind == "token_product" else 2
                expect(products >= rows * at_once * PACK_BYTES // size, f"has {products} fused multiply-adds")
                if target != "sm_90" or rows > 1 or size != 2 or kind != "token_product":
                    continue
                for depth, cols in ((HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, FFN), (FFN, HIDDEN)):
                    grid = -(-depth // SLICE_ROWS) * -(-cols // (PACKS * PACK_BYTES // size))
                    expect(grid <= blocks * H100_MULTIPROCESSORS, f"{depth} x {cols} has {grid} blocks, more than fit")
    for line in wrong:
        print(line)
    print(f"{len(wrong)} wrong" if wrong else "all is as it is to be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
