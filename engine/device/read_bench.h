// The read ceiling: how fast this machine reads memory with all its cores at once. It bounds whatever uses
// each byte once, as a pass over one token does with the weights.
#pragma once

#include <cstdint>

namespace shardlens {

/// Memory of a size, read again and again by several threads.
class ReadBench {
 public:
  /// `bytes` are all threads' together: as many as what is compared reads, so that caches help both alike.
  /// Throws a request Error for fewer than 1 thread or byte, a run Error where the memory is not there.
  ReadBench(int64_t bytes, int threads);
  ~ReadBench();
  ReadBench(const ReadBench&) = delete;
  ReadBench& operator=(const ReadBench&) = delete;

  /// Reads all of it once; bytes/s of all threads together.
  double bytes_per_second();

 private:
  int64_t floats_per_thread_;
  int threads_;
  float* memory_;
};

}  // namespace shardlens
