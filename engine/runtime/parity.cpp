// Compares each rank's piece of a tensor with the serial run's full tensor.
#include "engine/runtime/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>

#include "engine/base/units.h"
#include "engine/config/hardware.h"
#include "engine/io/half.h"
#include "engine/io/hash.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/tensor_size.h"

namespace shardlens {

namespace {

// Calls use(T{}) with the type a floating-point dtype is stored as.
template <typename Use>
auto with_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::Fp64:
      return use(double{});
    case DType::Bf16:
      return use(Bf16{});
    case DType::Fp16:
      return use(Fp16{});
    default:
      return use(float{});
  }
}

double rms_of(const SerialValue& value) {
  if (value.dtype == DType::Int32 || value.count == 0) return 0;
  return with_type(value.dtype, [&]<typename T>(T) {
    constexpr int64_t kSums = 8;  // side by side: an addition waits for the one before
    double sums[kSums] = {};
    const auto* const data = reinterpret_cast<const T*>(value.bytes.data());
    const auto add = [&](int64_t i, int64_t sum) {
      const auto x = static_cast<double>(data[i]);
      sums[sum] += x * x;
    };
    int64_t i = 0;
    for (; i + kSums <= value.count; i += kSums)
      for (int64_t j = 0; j < kSums; ++j) add(i + j, j);
    for (; i < value.count; ++i) add(i, 0);
    return std::sqrt(std::accumulate(std::begin(sums), std::end(sums), 0.0) /
                     static_cast<double>(value.count));
  });
}

}  // namespace

void SerialReference::on_tensor(int, StepId, const Tensor& tensor, const void* data) {
  if (!wants(tensor)) return;
  const auto* begin = static_cast<const std::byte*>(data);
  SerialValue& value = values_[tensor.value];
  value.dtype = tensor.dtype;
  value.bytes.assign(begin, begin + tensor.bytes());
  value.count = element_count(tensor.shape);
  value.rms = rms_of(value);
}

const SerialValue* SerialReference::value(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

const std::vector<std::byte>* SerialReference::find(const std::string& name) const {
  const SerialValue* const found = value(name);
  return found == nullptr ? nullptr : &found->bytes;
}

std::vector<double> SerialReference::numbers(const std::string& name) const {
  const SerialValue* const found = value(name);
  if (found == nullptr) return {};
  return with_type(found->dtype, [&]<typename T>(T) {
    const auto* const data = reinterpret_cast<const T*>(found->bytes.data());
    std::vector<double> numbers(static_cast<size_t>(found->count));
    std::transform(data, data + found->count, numbers.begin(),
                   [](const T& x) { return static_cast<double>(x); });
    return numbers;
  });
}

namespace {

// The bound of 16-bit formats and TF32, in unit roundings. In a 16-bit format the error comes from rounding
// single elements, not from the sums, which are fp32. A sharded run rounds each rank's partial sum before it
// is reduced, so its tensors differ by unit roundings of their own size, and the layers pass these on. TF32
// rounds only the factors of products, to as many bits as fp16 has. Values that differ in their last fp32
// bits can be rounded to different TF32 values.
constexpr double kHalfRoundings = 8;

double bound_of_fractions(const Settings& settings) {
  switch (settings.dtype) {
    case DType::Fp64:
      return 5e-15;
    case DType::Fp16:
      return kHalfRoundings * 0x1p-11;
    case DType::Bf16:
      return kHalfRoundings * 0x1p-8;
    default:
      return settings.tf32 ? kHalfRoundings * 0x1p-11 : 3e-6;
  }
}

// The values that are sums, over the ranks, of terms that are no integers. All other terms are products of
// integers.
std::set<std::string> sums_of_fractions(const Program& program) {
  std::set<std::string> values;
  for (const Tensor& tensor : program.tensors)
    if (tensor.layout.kind == LayoutKind::Partial && tensor.kind == MemoryKind::WeightGradient &&
        tensor.row_dims == 0)
      values.insert(tensor.value);
  return values;
}

}  // namespace

double parity_bound(const Settings& settings) {
  return settings.operands == Operands::Integer ? 0 : bound_of_fractions(settings);
}

// Sums over the elements compared so far.
struct ParitySums {
  double difference_squares = 0;
  double serial_squares = 0;
  double max_abs_difference = 0;

  void take(double value, double serial) {
    const double difference = value - serial;
    difference_squares += difference * difference;
    serial_squares += serial * serial;
    // A NaN must not slip through: max() would drop it.
    if (!(std::abs(difference) <= max_abs_difference)) max_abs_difference = std::abs(difference);
  }
  void join(const ParitySums& other) {
    difference_squares += other.difference_squares;
    serial_squares += other.serial_squares;
    if (!(other.max_abs_difference <= max_abs_difference)) max_abs_difference = other.max_abs_difference;
  }
  /// Relative to the serial tensor's own norm, or to `norm_of_terms` unless that is 0.
  double relative_error(double norm_of_terms) const {
    if (difference_squares == 0) return 0;
    const double ratio =
        std::sqrt(difference_squares) / (norm_of_terms > 0 ? norm_of_terms : std::sqrt(serial_squares));
    return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  }
};

// Block means of |difference| over the full tensor's matrix.
struct DifferencePicture {
  MatrixShape matrix;
  int rows = 0, cols = 0;
  std::vector<double> sums;
  std::vector<int64_t> counts;

  DifferencePicture(MatrixShape shape, int64_t extent) : matrix(shape) {
    rows = static_cast<int>(std::min(shape.rows, extent));
    cols = static_cast<int>(std::min(shape.cols, extent));
    sums.assign(static_cast<size_t>(rows) * static_cast<size_t>(cols), 0);
    counts.assign(sums.size(), 0);
  }
  void take(int64_t row, int64_t col, double difference) {
    const int64_t r = row * rows / matrix.rows;
    const int64_t c = col * cols / matrix.cols;
    const auto cell = static_cast<size_t>(r * cols + c);
    sums[cell] += std::abs(difference);
    ++counts[cell];
  }
  void join(const DifferencePicture& other) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += other.sums[i];
      counts[i] += other.counts[i];
    }
  }
  Picture means() const {
    Picture picture{rows, cols, std::vector<float>(sums.size()), {}};
    for (size_t i = 0; i < sums.size(); ++i) {
      picture.values[i] = counts[i] ? static_cast<float>(sums[i] / static_cast<double>(counts[i])) : 0.0f;
    }
    measure_extent(picture);
    return picture;
  }
};

struct ParityPiece {
  ParitySums sums;
  std::unique_ptr<DifferencePicture> picture;
};

namespace {

// Compares one rank's piece with the same places of the serial tensor. `extent` is the picture's extent; 0:
// no picture.
template <typename T>
ParityPiece compare(const Tensor& tensor, int ranks, int rank, const T* local, const T* serial,
                    int64_t extent) {
  ParityPiece piece;
  const MatrixShape full = matrix_shape(tensor);
  const MatrixShape own = local_matrix_shape(tensor, ranks, rank);
  if (extent > 0) piece.picture = std::make_unique<DifferencePicture>(full, extent);
  for (const Placement& place : placements(tensor, ranks, rank)) {
    for (int64_t i = 0; i < place.rows.size(); ++i) {
      const T* mine = local + (place.local_rows.begin + i) * own.cols + place.local_cols.begin;
      const T* theirs = serial + (place.rows.begin + i) * full.cols + place.cols.begin;
      for (int64_t j = 0; j < place.cols.size(); ++j) {
        piece.sums.take(static_cast<double>(mine[j]), static_cast<double>(theirs[j]));
      }
      if (extent == 0) continue;
      for (int64_t j = 0; j < place.cols.size(); ++j) {
        piece.picture->take(place.rows.begin + i, place.cols.begin + j,
                            static_cast<double>(mine[j]) - static_cast<double>(theirs[j]));
      }
    }
  }
  return piece;
}

// Adds one rank's term to `total`, in its place. The term is of the full tensor or of the rank's slice.
template <typename T>
void accumulate(const Tensor& tensor, int ranks, int rank, const T* term, std::vector<double>& total) {
  const int64_t full_cols = matrix_shape(tensor).cols;
  const int64_t own_cols = local_matrix_shape(tensor, ranks, rank).cols;
  for (const Placement& place : placements(tensor, ranks, rank)) {
    for (int64_t i = 0; i < place.rows.size(); ++i) {
      double* to = total.data() + (place.rows.begin + i) * full_cols + place.cols.begin;
      const T* from = term + (place.local_rows.begin + i) * own_cols + place.local_cols.begin;
      for (int64_t j = 0; j < place.cols.size(); ++j) to[j] += static_cast<double>(from[j]);
    }
  }
}

template <typename T>
ParityPiece compare_total(const Tensor& tensor, const std::vector<double>& total, const T* serial,
                          int64_t extent) {
  ParityPiece piece;
  const MatrixShape full = matrix_shape(tensor);
  if (extent > 0) piece.picture = std::make_unique<DifferencePicture>(full, extent);
  for (int64_t i = 0; i < static_cast<int64_t>(total.size()); ++i) {
    const double value = total[static_cast<size_t>(i)];
    const double wanted = static_cast<double>(serial[i]);
    piece.sums.take(value, wanted);
    if (extent > 0) piece.picture->take(i / full.cols, i % full.cols, value - wanted);
  }
  return piece;
}

}  // namespace

struct ParityCheck::Comparison {
  std::mutex mutex;
  int seen = 0;
  std::vector<uint64_t> hashes;  // per rank, Replicated tensors
  std::vector<double> total;     // Partial tensors: the sum of the terms shown so far
  ParityPiece result;
  double norm_of_terms = 0;        // if they cancel: what the error is relative to
  bool sums_fractions = false;     // no integers, whatever the operands
  double worst_replica_error = 0;  // Replicated: the largest of the ranks' errors
  Picture difference;              // set when all ranks have shown their piece

  // Frees the sums behind the picture, because they are several times the picture's size.
  void finish() {
    if (result.picture) difference = result.picture->means();
    result.picture.reset();
  }
};

ParityCheck::ParityCheck(const Program& program, std::shared_ptr<const SerialReference> serial, bool pictures)
    : program_(program),
      serial_(std::move(serial)),
      picture_extent_(pictures ? picture_extent(program, 1) : 0) {
  const double bound = bound_of_fractions(program.settings);
  const std::map<std::string, TensorSize> sizes = tensor_sizes(program, *serial_, bound);
  const std::set<std::string> fractions = sums_of_fractions(program);
  for (const Tensor& tensor : program.tensors) {
    const bool is_sum = tensor.layout != kPartialMax;
    const bool comparable = tensor.kind != MemoryKind::Workspace && tensor.dtype != DType::Int32 && is_sum &&
                            serial_->find(tensor.value) != nullptr &&
                            static_cast<int64_t>(serial_->find(tensor.value)->size()) == tensor.bytes();
    if (!comparable) continue;
    auto comparison = std::make_unique<Comparison>();
    comparison->hashes.assign(static_cast<size_t>(program.tp()), 0);
    if (const auto found = sizes.find(tensor.value); found != sizes.end() && found->second.is_cancelled())
      comparison->norm_of_terms =
          found->second.terms * std::sqrt(static_cast<double>(element_count(tensor.shape)));
    comparison->sums_fractions = fractions.count(tensor.value) > 0;
    comparisons_[tensor.id] = std::move(comparison);
  }
}

ParityCheck::~ParityCheck() = default;

void ParityCheck::compare_piece(Comparison& comparison, const Tensor& tensor, int rank, const void* data) {
  const std::byte* serial = serial_->find(tensor.value)->data();
  const bool replicated = tensor.layout.kind == LayoutKind::Replicated;
  const int64_t picture = !replicated || rank == 0 ? picture_extent_ : 0;
  const auto typed = [&]<typename T>(T) {
    return compare(tensor, program_.tp(), rank, static_cast<const T*>(data),
                   reinterpret_cast<const T*>(serial), picture);
  };
  ParityPiece piece = with_type(tensor.dtype, typed);
  // If several ranks hold the same data, every bit must be equal.
  const int64_t bytes = local_bytes(tensor, program_.tp(), rank);
  const bool alike = replicated || tensor.layout.copies > 1;
  const uint64_t hash = alike ? hash64(data, static_cast<size_t>(bytes)) : 0;

  const std::lock_guard lock(comparison.mutex);
  ++comparison.seen;
  comparison.hashes[static_cast<size_t>(rank)] = hash;
  if (replicated)
    comparison.worst_replica_error =
        std::max(comparison.worst_replica_error, piece.sums.relative_error(comparison.norm_of_terms));
  comparison.result.sums.join(piece.sums);
  if (piece.picture && comparison.result.picture) comparison.result.picture->join(*piece.picture);
  if (piece.picture && !comparison.result.picture) comparison.result.picture = std::move(piece.picture);
  if (comparison.seen == program_.tp()) comparison.finish();
}

void ParityCheck::add_term(Comparison& comparison, const Tensor& tensor, int rank, const void* data) {
  const std::lock_guard lock(comparison.mutex);
  comparison.total.resize(static_cast<size_t>(element_count(tensor.shape)), 0.0);
  with_type(tensor.dtype, [&]<typename T>(T) {
    accumulate(tensor, program_.tp(), rank, static_cast<const T*>(data), comparison.total);
  });
  if (++comparison.seen < program_.tp()) return;
  const std::byte* serial = serial_->find(tensor.value)->data();
  comparison.result = with_type(tensor.dtype, [&]<typename T>(T) {
    return compare_total(tensor, comparison.total, reinterpret_cast<const T*>(serial), picture_extent_);
  });
  comparison.total = {};
  comparison.finish();
}

void ParityCheck::on_tensor(int rank, StepId, const Tensor& tensor, const void* data) {
  const auto found = comparisons_.find(tensor.id);
  if (found == comparisons_.end()) return;
  if (tensor.layout.kind == LayoutKind::Partial) {
    add_term(*found->second, tensor, rank, data);
  } else {
    compare_piece(*found->second, tensor, rank, data);
  }
}

std::vector<std::shared_ptr<const TensorParity>> ParityCheck::results() const {
  std::vector<std::shared_ptr<const TensorParity>> results(program_.tensors.size());
  const double bound = parity_bound(program_.settings), of_fractions = bound_of_fractions(program_.settings);
  for (const auto& [id, comparison] : comparisons_) {
    const std::lock_guard lock(comparison->mutex);
    if (comparison->seen < program_.tp()) continue;
    const bool replicated = program_.tensor(id).layout.kind == LayoutKind::Replicated;
    auto parity = std::make_shared<TensorParity>();
    parity->compared = true;
    parity->bound = comparison->sums_fractions ? of_fractions : bound;
    parity->relative_to_terms = comparison->norm_of_terms > 0;
    parity->relative_error = replicated ? comparison->worst_replica_error
                                        : comparison->result.sums.relative_error(comparison->norm_of_terms);
    parity->max_abs_error = comparison->result.sums.max_abs_difference;
    const std::vector<uint64_t>& hashes = comparison->hashes;
    const auto copies = static_cast<size_t>(replicated ? program_.tp() : program_.tensor(id).layout.copies);
    for (size_t rank = 0; rank < hashes.size(); ++rank)
      parity->ranks_identical &= hashes[rank] == hashes[rank / copies * copies];
    parity->difference = comparison->difference;
    results[static_cast<size_t>(id)] = std::move(parity);
  }
  return results;
}

std::string why_not_comparable(const Plan& plan, const Plan& serial) {
  int64_t values_bytes = 0;
  for (const Tensor& tensor : serial.program.tensors) {
    if (tensor.kind != MemoryKind::Workspace) values_bytes += tensor.bytes();
  }
  // Twice the needed memory must be free. The serial run is on the device of this run's first rank.
  std::vector<int64_t> rank_bytes = arena_bytes_by_rank(plan);
  rank_bytes.front() += run_bytes(serial);
  for (int64_t& bytes : rank_bytes) bytes *= 2;
  const MemoryDemand demand = memory_demand(plan, rank_bytes, 2 * values_bytes);
  if (demand.lacking_bytes() < 0) return {};
  return fmt::format(
      "To compare this run, all values of a run on one rank must be kept too. This needs {}{}, but only {} "
      "may be used for it. Choose a smaller batch, sequence or model.",
      bytes_text(static_cast<double>(demand.needed_bytes) / 2), demand.place,
      bytes_text(static_cast<double>(demand.free_bytes) / 2));
}

ParitySummary summarise(const Program& program,
                        const std::vector<std::shared_ptr<const TensorParity>>& parity) {
  ParitySummary summary;
  const auto look = [&](TensorId id) {
    const auto& one = parity[static_cast<size_t>(id)];
    if (!one) return;
    if (summary.worst_tensor == kNoTensor || one->relative_error > summary.worst_relative_error) {
      summary.worst_relative_error = one->relative_error;
      summary.worst_tensor = id;
    }
    if (!one->within_bound() && summary.first_broken == kNoTensor) summary.first_broken = id;
    summary.known = true;
  };
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::Input) look(tensor.id);
  }
  for (const Step& step : program.steps) {
    for (TensorId id : step.outputs) look(id);
  }
  summary.agrees = summary.known && summary.first_broken == kNoTensor;
  return summary;
}

}  // namespace shardlens
