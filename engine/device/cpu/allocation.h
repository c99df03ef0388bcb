// How the program's malloc treats freed memory.
#pragma once

namespace shardlens::cpu {

/// Makes malloc keep freed memory for the next allocation, in the whole program. main() calls it once, before
/// there are threads. oneDNN allocates up to 8 MiB for packed operands in every product. If that goes back to
/// the operating system each time, its pages are cleared and mapped again, and the other ranks' cores are
/// interrupted: products of two ranks ran at 350 GFLOP/s instead of 450.
void keep_freed_memory();

/// Lets large memory that the calling thread frees merge with its free neighbours, so that the next
/// allocation of a similar size can reuse it. glibc keeps the few bytes that it cuts off for alignment in the
/// thread's cache, seven of every size, and merges nothing with them. Products of several sizes then used
/// ever new places, and two ranks of GPT-2 held 18 MB more than they use. Only the first call in a thread
/// does anything.
void join_freed_memory();

}  // namespace shardlens::cpu
