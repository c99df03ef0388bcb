#!/usr/bin/env python3
"""Checks the machine code of some passes of a training step, without a GPU: what their speed rests on.

    tests/machine_code/training_kernels.py [FOLDER]      FOLDER: for what is compiled; else a temporary one

It needs the tools that token_kernels.py names. Where one of them is missing it says so and ends with 77.

For each kernel, compiled for sm_80 and sm_90:
  - nothing is spilled, but for what SPILLED names;
  - the sums of a bias gradient load four packs of 16 bytes before they add one, and leave room for so many blocks
    that enough bytes are under way;
  - attention's sums of dC·C load a pack of each operand before they multiply;
  - attention's loops over the keys, for calls without dropout, mask and stored P: with 32 rows a warp they read shared
    memory at most so often for each product of the matrix units, and two blocks fit on a multiprocessor of an H100.
"""
import re
import sys
import tempfile
from pathlib import Path

from token_kernels import PACK_BYTES, REGISTERS, UNDER_WAY, kernels, tool

SUM_THREADS, PACKS_AT_ONCE = 256, 4  # column_sums.cuh
ATTENTION_THREADS, BLOCKS_AT_ONCE = 128, 2  # attention_half_tiles.cuh, attention_rows.h
# Loads from shared memory for each product, by kind of kernel, width of a head and 16 rows a warp: what the loops of
# attention_half.cu and attention_half_query_grad.cu are written for.
LOADS = {("attention", 64, 1): 1 / 2, ("attention", 96, 1): 1 / 2, ("attention", 128, 1): 1 / 2,
         ("attention", 64, 2): 1 / 4, ("attention", 96, 2): 5 / 16,
         ("query_grad", 64, 1): 1 / 2, ("query_grad", 96, 1): 1 / 2, ("query_grad", 128, 1): 1 / 2,
         ("query_grad", 64, 2): 1 / 4, ("query_grad", 96, 2): 3 / 8, ("query_grad", 128, 2): 5 / 12}
# Loads of spilled registers in those loops: once for each tile of keys.
SPILLED = {("sm_80", "query_grad", 64, 1): 1,  # else two blocks would be on a multiprocessor, not three
           ("sm_80", "query_grad", 96, 2): 3, ("sm_90", "query_grad", 96, 2): 2}  # else six more loads of Q


def packs_before(code, operations):
    """Loads of 16 bytes before the first of the operations that follows one."""
    loads = 0
    for op in code:
        if op.startswith("LDG") and ".128" in op:
            loads += 1
        elif loads > 0 and op.startswith(operations):
            return loads
    return loads


def attention(target, folder, tools, wrong):
    """Prints and checks attention's loops; returns how many kernels there were."""
    count = 0
    print(f"{'GPU':6} {'kernel':24} {'registers':>9} {'loop':>6} {'products':>8} {'loads':>6} {'spilled':>7}")
    for source in ("attention_half", "attention_half_query_grad"):
        for name, kernel in sorted(kernels(source, target, folder, tools).items()):
            found = re.search(r"half_(attention|query_grad)_kernelILi(\d+)ELi(\d)E.*13__nv_bfloat16Lb1", name)
            if not found:
                continue
            count += 1
            kind, width, tiles = found.group(1), int(found.group(2)), int(found.group(3))
            products = sum(op.startswith("HMMA") for op in kernel["loop"])
            loads = sum(op.startswith("LDSM") for op in kernel["loop"])
            spilled = sum(op.startswith("LDL") for op in kernel["loop"])
            words = f"{kind} {width}, {16 * tiles} rows"
            print(f"{target:6} {words:24} {kernel['REG']:9} {len(kernel['loop']):6} {products:8} {loads:6} "
                  f"{spilled:7}")
            expect = lambda holds, what: wrong.append(f"{words}, {target}: {what}") if not holds else None
            may_be = SPILLED.get((target, kind, width, tiles), 0)
            expect(spilled <= may_be if may_be > 0 else not is_spilled(kernel),
                   f"registers are spilled, and {spilled} times read in the loop")
            expect(not any(op.startswith("STL") for op in kernel["loop"]), "the loop spills registers")
            expect(products > 0 and loads <= LOADS[kind, width, tiles] * products,
                   f"{loads} loads for {products} products")
            blocks = REGISTERS // ((kernel["REG"] + 7) // 8 * 8 * ATTENTION_THREADS)
            expect(blocks >= BLOCKS_AT_ONCE, f"registers for {blocks} blocks")
    return count


def is_spilled(kernel):
    return kernel["LOCAL"] > 0 or kernel["STACK"] > 0 or any(op.startswith(("STL", "LDL")) for op in kernel["code"])


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    tools = {name: tool(name) for name in ("nvcc", "cuobjdump", "nvdisasm")}
    wrong, seen = [], set()
    print(f"{'GPU':6} {'kernel':24} {'registers':>9} {'packs':>6}")
    for target in ("sm_80", "sm_90"):
        for source in ("elementwise", "attention_grad"):
            for name, kernel in kernels(source, target, folder, tools).items():
                found = re.search(r"(column_sums|delta)_kernelI(6__half|13__nv_bfloat16)L(?:i1|b1)E", name)
                if not found:
                    continue
                kind, code = found.group(1), kernel["code"]
                seen.add((target, kind, found.group(2)))
                words = f"{kind} of {found.group(2).lstrip('0123456789')}, {target}"
                expect = lambda holds, what: wrong.append(f"{words}: {what}") if not holds else None
                packs = packs_before(code, ("FADD",) if kind == "column_sums" else ("FMUL", "FFMA"))
                print(f"{target:6} {kind + ' ' + found.group(2).lstrip('0123456789_'):24} {kernel['REG']:9} {packs:6}")
                expect(not is_spilled(kernel), "registers are spilled")
                if kind == "delta":
                    expect(packs >= 2, f"loads {packs} packs before it multiplies")
                    continue
                # Registers are given out to warps in eights.
                blocks = REGISTERS // ((kernel["REG"] + 7) // 8 * 8 * SUM_THREADS)
                under_way = blocks * SUM_THREADS * PACKS_AT_ONCE * PACK_BYTES
                expect(packs >= PACKS_AT_ONCE, f"loads {packs} packs before it adds")
                expect(under_way >= UNDER_WAY, f"{under_way} bytes are under way on a multiprocessor")
    if len(seen) != 8:
        wrong.append(f"{len(seen)} of 8 kernels were found")
    for target in ("sm_80", "sm_90"):
        count = attention(target, folder, tools, wrong)
        if count != len(LOADS):
            wrong.append(f"{count} of {len(LOADS)} kernels of attention were found for {target}")
    for line in wrong:
        print(line)
    print(f"{len(wrong)} wrong" if wrong else "all is as it is to be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
