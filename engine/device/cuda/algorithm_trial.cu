// Runs each algorithm, hashes its result and times it on the GPU.
#include "engine/device/cuda/algorithm_trial.h"

#include <algorithm>

#include "engine/device/cuda/places.h"

namespace shardlens::cuda {

namespace {

constexpr const char* kWhat = "the trial of a product's algorithms";
constexpr int kTimedRuns = 3;
constexpr int64_t kMostBlocks = 1024, kChunksOfABlock = 4;
// An algorithm must beat this share of the first one's time: smaller differences may be noise.
constexpr double kClearlyFaster = 0.97;

/// The exponent's bits. All of them are set in infinities and NaN.
uint64_t exponent_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return uint64_t{0x7FF} << 52;
    case DType::Fp16:
      return 0x7C00;
    case DType::Bf16:
      return 0x7F80;
    default:
      return 0x7F800000;
  }
}

/// Each input bit affects every output bit (the last part of splitmix64).
__device__ __forceinline__ unsigned long long mix(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// A block takes every gridDim-th chunk. The hashes of the elements are integers, so their sum does not depend
// on the order. An element counts as telling if it is finite and its last bits are not all 0. They are 0 in
// zeros, small integers and powers of two.
template <class Bits>
__global__ void look_kernel(RowChunks chunks, int64_t stride, Bits exponent, const Bits* matrix, Seen* seen) {
  constexpr unsigned kLastBits = 7;
  constexpr unsigned long long kOdd = 0x9E3779B97F4A7C15ull;
  __shared__ unsigned long long shared[kRowThreads / 32];
  unsigned long long hash = 0, telling = 0;
  for (int64_t chunk = blockIdx.x; chunk < chunks.count(); chunk += gridDim.x) {
    const int64_t row = chunks.row(chunk);
    for (int64_t col = chunks.begin(chunk) + threadIdx.x; col < chunks.end(chunk); col += blockDim.x) {
      const Bits bits = matrix[row * stride + col];
      const auto place = static_cast<unsigned long long>(row * chunks.length + col);
      hash += mix(bits ^ mix(place * kOdd + 1));
      telling += (bits & exponent) != exponent && (bits & kLastBits) != 0 ? 1 : 0;
    }
  }
  hash = block_sum(hash, shared);
  telling = block_sum(telling, shared);
  if (threadIdx.x == 0) seen[blockIdx.x] = {hash, telling};
}

__global__ void sum_kernel(int64_t count, const Seen* parts, Seen* seen) {
  __shared__ unsigned long long shared[kRowThreads / 32];
  unsigned long long hash = 0, telling = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    hash += parts[i].hash;
    telling += parts[i].telling;
  }
  hash = block_sum(hash, shared);
  telling = block_sum(telling, shared);
  if (threadIdx.x == 0) *seen = {hash, telling};
}

}  // namespace

AlgorithmTrial::AlgorithmTrial() {
  try {
    void* board = nullptr;
    check(kWhat, "cudaHostAlloc", cudaHostAlloc(&board, sizeof(Board), cudaHostAllocMapped));
    board_ = new (board) Board;
    for (int i = 0; i < kMostAlgorithms; ++i)
      for (cudaEvent_t* const event : {&begin_[i], &end_[i]})
        check(kWhat, "cudaEventCreate", cudaEventCreate(event));
    check(kWhat, "cudaEventCreateWithFlags", cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
  } catch (...) {
    free_everything();
    throw;
  }
}

AlgorithmTrial::~AlgorithmTrial() {
  free_everything();
}

void AlgorithmTrial::free_everything() noexcept {
  // Errors here were reported before.
  for (int i = 0; i < kMostAlgorithms; ++i)
    for (const cudaEvent_t event : {begin_[i], end_[i]})
      if (event != nullptr) cudaEventDestroy(event);
  if (done_ != nullptr) cudaEventDestroy(done_);
  cudaFreeHost(board_);
}

void AlgorithmTrial::look_at(const Operation& operation, const MatrixOnGpu& matrix, Seen* seen) const {
  const bool in_one_piece = matrix.stride == matrix.cols;
  const RowChunks chunks{in_one_piece ? 1 : matrix.rows, in_one_piece ? matrix.count() : matrix.cols,
                         4 * kRowThreads};
  const int64_t blocks = std::min(pieces(chunks.count(), kChunksOfABlock), kMostBlocks);
  auto* const parts = operation.scratch<Seen>();
  const auto look = [&](auto zero) {
    using Bits = decltype(zero);
    operation.launch(look_kernel<Bits>, blocks, kRowThreads, 0, chunks, matrix.stride,
                     static_cast<Bits>(exponent_of(matrix.dtype)), static_cast<const Bits*>(matrix.data),
                     parts);
  };
  switch (element_bytes(matrix.dtype)) {
    case 2:
      look(uint16_t{});
      break;
    case 4:
      look(uint32_t{});
      break;
    default:
      look(uint64_t{});
  }
  operation.launch(sum_kernel, 1, kRowThreads, 0, blocks, parts, seen);
}

void AlgorithmTrial::ask(const Operation& operation, const std::vector<MatrixOnGpu>& operands,
                         const std::vector<MatrixOnGpu>& results, int count,
                         const std::function<cublasStatus_t(int)>& run) {
  operand_counts_.clear();
  for (const MatrixOnGpu& operand : operands) {
    look_at(operation, operand, &board_->operands[operand_counts_.size()]);
    operand_counts_.push_back(operand.count());
  }
  result_counts_.clear();
  for (const MatrixOnGpu& result : results) result_counts_.push_back(result.count());
  ran_.assign(static_cast<size_t>(std::min(count, kMostAlgorithms)), false);
  const auto runs = [&](int algorithm, int times) {
    while (times > 0 && run(algorithm) == CUBLAS_STATUS_SUCCESS) --times;
    if (times > 0) cudaGetLastError();  // clears the error for the next launch
    return times == 0;
  };
  for (int i = 0; i < static_cast<int>(ran_.size()); ++i) {
    if (!runs(i, 1)) continue;
    for (size_t r = 0; r < results.size(); ++r) look_at(operation, results[r], &board_->results[i][r]);
    operation.check("cudaEventRecord", cudaEventRecord(begin_[i], operation.stream()));
    if (!runs(i, kTimedRuns)) continue;
    operation.check("cudaEventRecord", cudaEventRecord(end_[i], operation.stream()));
    ran_[static_cast<size_t>(i)] = true;
  }
  operation.check("cudaEventRecord", cudaEventRecord(done_, operation.stream()));
}

bool AlgorithmTrial::is_done(const Operation& operation) const {
  const cudaError_t status = cudaEventQuery(done_);
  if (status == cudaErrorNotReady) return false;
  operation.check("cudaEventQuery", status);
  return true;
}

double AlgorithmTrial::seconds(const Operation& operation, int algorithm) const {
  float milliseconds = 0;
  operation.check("cudaEventElapsedTime",
                  cudaEventElapsedTime(&milliseconds, begin_[algorithm], end_[algorithm]));
  return static_cast<double>(milliseconds) * 1e-3;
}

std::optional<int> AlgorithmTrial::fastest(const Operation& operation) const {
  const auto tells = [](const Seen& seen, int64_t count) {
    return 2 * seen.telling >= static_cast<unsigned long long>(count);
  };
  if (!ran_.front() || !tells(board_->results[0][0], result_counts_.front())) return std::nullopt;
  for (size_t i = 0; i < operand_counts_.size(); ++i)
    if (!tells(board_->operands[i], operand_counts_[i])) return std::nullopt;
  int best = 0;
  double to_beat = kClearlyFaster * seconds(operation, 0);
  for (int i = 1; i < static_cast<int>(ran_.size()); ++i) {
    if (!ran_[static_cast<size_t>(i)]) continue;
    bool alike = true;
    for (size_t r = 0; r < result_counts_.size(); ++r)
      alike &= board_->results[i][r] == board_->results[0][r];
    if (!alike || seconds(operation, i) >= to_beat) continue;
    best = i;
    to_beat = seconds(operation, i);
  }
  return best;
}

}  // namespace shardlens::cuda
