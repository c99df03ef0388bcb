// The read ceiling: how fast this machine reads memory with all its cores at once. It is the limit for work
// that uses each byte once, as a pass over one token does with the weights.
#pragma once

#include <cstdint>

namespace shardlens {

/// Memory that several threads read repeatedly.
class ReadBench {
 public:
  /// `bytes`: of all threads together, as many as the work reads that is compared with this, so that caches
  /// help both equally. Throws a request Error for fewer than 1 thread or byte, and a run Error if there is
  /// not enough memory.
  ReadBench(int64_t bytes, int threads);
  ~ReadBench();
  ReadBench(const ReadBench&) = delete;
  ReadBench& operator=(const ReadBench&) = delete;

  /// Reads all of it once. Returns bytes/s of all threads together.
  double bytes_per_second();

 private:
  int64_t floats_per_thread_;
  int threads_;
  float* memory_;
};

}  // namespace shardlens
