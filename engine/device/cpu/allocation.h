// How a program's malloc goes about memory that is freed.
#pragma once

namespace shardlens::cpu {

/// Makes malloc of the whole program keep what is freed for the next who asks, for main() to call. oneDNN
/// takes room for packed operands anew for every product, up to 8 MiB; given back to the kernel each time,
/// its pages are cleared and mapped again, and the other ranks' cores interrupted: products of two ranks ran
/// at 350 GFLOP/s instead of 450. Called once, before there are threads.
void keep_freed_memory();

/// Makes large memory that the calling thread frees join what is free beside it, so that the next who asks
/// for a little more, or less, gets the same. glibc lays the ends of what it aligns, some bytes each, aside
/// for the thread, seven of every size, and joins nothing with them: products of several sizes went from
/// place to place, and two ranks of GPT-2 held 18 MB more than they use. Does something once in a thread.
void join_freed_memory();

}  // namespace shardlens::cpu
