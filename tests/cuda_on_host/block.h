// Simulates a GPU's block of threads on the host: one block after the other, one thread at a time. Each
// thread is a fiber that runs until it waits for its warp or its block. The fibers take turns, in one order
// in even blocks and in the opposite order in odd blocks, so code that works only in one order fails in one
// of them. A warp runs as far as it can before the next one. So if a barrier is missing, a warp reads what
// others have not written yet. If some threads wait for others that never come, the program ends with an
// error, as it does if a launch asked for less shared memory than its blocks write. Shared memory begins as
// NaN.
//
// This cannot show: races between two barriers if every order happens to be right, what several blocks do to
// each other when they run at the same time, limits of registers, and time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

struct BlockPlace {
  unsigned x = 0;
};
extern BlockPlace threadIdx, blockIdx, blockDim, gridDim;

namespace on_host {

/// A thread's number in its warp, and its warp's in the block.
inline unsigned lane() {
  return threadIdx.x % 32;
}
inline unsigned warp() {
  return threadIdx.x / 32;
}

/// A kernel's last block runs first, and the others before it: whatever blocks leave for one another may not
/// depend on their order.
inline std::atomic<bool> runs_backwards = false;

/// Throws where a launch asks for more than a GPU has.
void check_launch(unsigned threads, size_t shared_bytes);
/// Runs `thread` once for each thread of each block. One call at a time.
void run_blocks(unsigned blocks, unsigned threads, size_t shared_bytes, const std::function<void()>& thread);

/// Waits for the block's other threads, or the warp's; those that have ended are not waited for.
void wait_for_block();
void wait_for_warp();

/// Copies into shared memory, zeros where `from` is null: they are done when the thread waits for them, and
/// not before. Until then the memory is NaN, as it may be overwritten from the moment the copy is asked for.
void ask_for_copy(void* to, const void* from, size_t bytes);
void wait_for_copies();

/// The memory the launch gave the block.
unsigned char* shared_memory();

/// `value` of another lane of the warp, all of which must ask.
template <class T>
T from_lane(T value, unsigned other) {
  static T given[32][32];
  given[warp()][lane()] = value;
  wait_for_warp();
  const T taken = given[warp()][other];
  wait_for_warp();
  return taken;
}

}  // namespace on_host
