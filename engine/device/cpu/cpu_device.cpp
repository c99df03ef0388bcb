// All of the CPU device that is not an operation: its name, its memory, and the number of available cores.
#include "engine/device/cpu/cpu_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engine/base/counted.h"
#include "engine/device/cpu/parallel.h"
#include "engine/device/cpu/processor.h"

namespace shardlens::cpu {

namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

CpuDevice::CpuDevice(int threads) : threads_(threads) {
  if (threads < 1)
    throw request_error("a CPU device needs at least 1 thread, not " + std::to_string(threads));
  require_processor();
}

std::string CpuDevice::name() const {
  return "cpu, " + counted(threads_, "thread");
}

void* CpuDevice::allocate(size_t bytes) {
  // Large arenas use huge pages if the operating system grants them. A GEMM's strided panels then miss the
  // TLB less often.
  const size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory =
      rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr)
    throw run_error("the CPU device could not allocate " + std::to_string(bytes) +
                    " bytes: choose a smaller batch, sequence or model, or a larger T");
  if (bytes >= kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

void CpuDevice::release(void* memory) noexcept {
  std::free(memory);
}

void CpuDevice::copy_to_device(void* to, const void* from_host, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from_host, bytes);
}

void CpuDevice::set_zero(void* to, size_t bytes) {
  // In pieces, so that all threads touch new memory's pages first.
  constexpr size_t kPiece = size_t{4} << 20;
  const auto pieces = static_cast<int64_t>((bytes + kPiece - 1) / kPiece);
  parallel_for(threads_, pieces, [&](int64_t piece) {
    const size_t begin = static_cast<size_t>(piece) * kPiece;
    std::memset(static_cast<char*>(to) + begin, 0, std::min(kPiece, bytes - begin));
  });
}

void CpuDevice::copy_to_host(void* to_host, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to_host, from, bytes);
}

}  // namespace shardlens::cpu

namespace shardlens {

std::unique_ptr<Device> make_cpu_device(int threads) {
  return std::make_unique<cpu::CpuDevice>(threads);
}

}  // namespace shardlens
