// The fibers, made with ucontext.
#include "tests/cuda_on_host/block.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <vector>

BlockPlace threadIdx, blockIdx, blockDim, gridDim;

namespace on_host {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr size_t kMostSharedBytes = size_t{227} << 10;  // of a block on an H100; 163 KiB on an A100

enum class State { Ready, WaitsForBlock, WaitsForWarp, Ended };

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

struct Fiber {
  ucontext_t context;
  State state;
  std::vector<Copy> copies;  // asked for and not waited for
};

std::vector<Fiber> fibers;
std::vector<std::vector<char>> stacks;
ucontext_t turns;  // where fibers come back to
alignas(128) unsigned char shared[kMostSharedBytes];
constexpr unsigned char kNotAskedFor = 0x5A;  // what is behind a block's shared memory
const std::function<void()>* work = nullptr;

void run_thread() {
  (*work)();
  Fiber& own = fibers[threadIdx.x];
  own.state = State::Ended;
  swapcontext(&own.context, &turns);
}

void wait_as(State state) {
  Fiber& own = fibers[threadIdx.x];
  own.state = state;
  swapcontext(&own.context, &turns);
}

/// Lets fibers [begin, end) go on if all that have not ended are in `state`.
bool release(unsigned begin, unsigned end, State state) {
  bool any = false;
  for (unsigned t = begin; t < end; ++t) {
    if (fibers[t].state != state && fibers[t].state != State::Ended) return false;
    any |= fibers[t].state == state;
  }
  for (unsigned t = begin; t < end; ++t)
    if (fibers[t].state == state) fibers[t].state = State::Ready;
  return any;
}

/// Lets one warp after the other go as far as it gets without the others.
bool give_turns(unsigned threads, bool backwards) {
  bool any = false;
  const unsigned warps = (threads + 31) / 32;
  for (unsigned w = 0; w < warps; ++w) {
    const unsigned begin = 32 * (backwards ? warps - 1 - w : w), end = std::min(threads, begin + 32);
    for (bool moved = true; moved; any |= moved) {
      moved = false;
      for (unsigned i = begin; i < end; ++i) {
        const unsigned t = backwards ? begin + end - 1 - i : i;
        if (fibers[t].state != State::Ready) continue;
        threadIdx.x = t;
        swapcontext(&turns, &fibers[t].context);
        moved = true;
      }
      release(begin, end, State::WaitsForWarp);
    }
  }
  return release(0, threads, State::WaitsForBlock) || any;
}

}  // namespace

void check_launch(unsigned threads, size_t shared_bytes) {
  if (threads == 0 || threads > 1024 || shared_bytes > kMostSharedBytes)
    throw std::logic_error("a launch that no GPU takes");
}

void run_blocks(unsigned blocks, unsigned threads, size_t shared_bytes, const std::function<void()>& thread) {
  work = &thread;
  blockDim.x = threads;
  gridDim.x = blocks;
  fibers.resize(threads);
  while (stacks.size() < threads) stacks.emplace_back(kStackBytes);
  std::fill(shared + shared_bytes, std::end(shared), kNotAskedFor);
  for (unsigned block = 0; block < blocks; ++block) {
    blockIdx.x = runs_backwards ? blocks - 1 - block : block;
    std::memset(shared, 0xFF, shared_bytes);
    for (unsigned t = 0; t < threads; ++t) {
      fibers[t].state = State::Ready;
      fibers[t].copies.clear();
      getcontext(&fibers[t].context);
      fibers[t].context.uc_stack.ss_sp = stacks[t].data();
      fibers[t].context.uc_stack.ss_size = kStackBytes;
      fibers[t].context.uc_link = nullptr;
      makecontext(&fibers[t].context, run_thread, 0);
    }
    while (give_turns(threads, blockIdx.x % 2 == 1)) {
    }
    const auto ended = [](const Fiber& fiber) { return fiber.state == State::Ended; };
    if (std::all_of(fibers.begin(), fibers.end(), ended)) continue;
    std::fputs("threads wait for others that never come\n", stderr);
    std::abort();
  }
  const auto is_untouched = [](unsigned char byte) { return byte == kNotAskedFor; };
  if (std::all_of(shared + shared_bytes, std::end(shared), is_untouched)) return;
  std::fputs("a block writes behind the shared memory that its launch asked for\n", stderr);
  std::abort();
}

void wait_for_block() {
  wait_as(State::WaitsForBlock);
}

void wait_for_warp() {
  wait_as(State::WaitsForWarp);
}

void ask_for_copy(void* to, const void* from, size_t bytes) {
  std::memset(to, 0xFF, bytes);
  fibers[threadIdx.x].copies.push_back({to, from, bytes});
}

void wait_for_copies() {
  for (const Copy& copy : fibers[threadIdx.x].copies) {
    if (copy.from == nullptr)
      std::memset(copy.to, 0, copy.bytes);
    else
      std::memcpy(copy.to, copy.from, copy.bytes);
  }
  fibers[threadIdx.x].copies.clear();
}

unsigned char* shared_memory() {
  return shared;
}

}  // namespace on_host
