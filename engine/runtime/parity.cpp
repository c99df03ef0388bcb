// Compares each rank's piece of a tensor with the serial run's full tensor.
#include "engine/runtime/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>

#include "engine/base/units.h"
#include "engine/config/hardware.h"
#include "engine/io/half.h"
#include "engine/io/hash.h"
#include "engine/runtime/plan.h"

namespace shardlens {

void SerialReference::on_tensor(int, StepId, const Tensor& tensor, const void* data) {
  if (!wants(tensor)) return;
  const auto* begin = static_cast<const std::byte*>(data);
  values_[tensor.value].assign(begin, begin + tensor.bytes());
}

const std::vector<std::byte>* SerialReference::find(const std::string& value) const {
  const auto found = values_.find(value);
  return found == values_.end() ? nullptr : &found->second;
}

// The bound of 16-bit formats and TF32, in unit roundings. In a 16-bit format the error comes from rounding
// single elements, not from the sums, which are fp32. A sharded run rounds each rank's partial sum before it
// is reduced, so its tensors differ by unit roundings of their own size, and the layers pass these on. TF32
// rounds only the factors of products, to as many bits as fp16 has. Values that differ in their last fp32
// bits can be rounded to different TF32 values.
constexpr double kHalfRoundings = 8;

double parity_bound(const Settings& settings) {
  if (settings.operands == Operands::Integer) return 0;
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
  double relative_error(double least_squares) const {
    if (difference_squares == 0) return 0;
    const double ratio = std::sqrt(difference_squares / std::max(serial_squares, least_squares));
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

struct Squares {
  double sum = 0, not_zero = 0;
};

Squares squares_of(DType dtype, const std::vector<std::byte>& bytes) {
  return with_type(dtype, [&]<typename T>(T) {
    Squares squares;
    for (const T& stored : std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T))) {
      const auto value = static_cast<double>(stored);
      squares.sum += value * value;
      squares.not_zero += value != 0;
    }
    return squares;
  });
}

// Returns the least sum of squares that the errors of picked values are relative to, by Tensor::value. A
// label's logit has the rounding error of a long sum, like every logit, even if the logit itself is near
// zero; with few tokens, its relative error would be too large. So the labels' logits count as at least the
// mean square of all logits, for each picked element that is not zero (an ignored label picks none and leaves
// a zero). The map has no entry for other tensors.
std::map<std::string, double> least_squares(const Program& program, const SerialReference& serial) {
  std::map<std::string, double> least;
  for (const Step& step : program.steps) {
    if (step.op != Op::TargetLogit) continue;
    const Tensor& source = program.tensor(input_of(program, step, Operand::Logits));
    const Tensor& picked = program.tensor(output_of(program, step, Operand::Target));
    const std::vector<std::byte>* from = serial.find(source.value);
    const std::vector<std::byte>* to = serial.find(picked.value);
    if (from == nullptr || to == nullptr || from->empty()) continue;
    const double mean =
        squares_of(source.dtype, *from).sum /
        (static_cast<double>(from->size()) / static_cast<double>(element_bytes(source.dtype)));
    least[picked.value] = mean * squares_of(picked.dtype, *to).not_zero;
  }
  return least;
}

}  // namespace

struct ParityCheck::Comparison {
  std::mutex mutex;
  int seen = 0;
  std::vector<uint64_t> hashes;  // per rank, Replicated tensors
  std::vector<double> total;     // Partial tensors: the sum of the terms shown so far
  ParityPiece result;
  double least_squares = 0;        // the error is relative to at least this: see least_squares()
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
  const std::map<std::string, double> least = least_squares(program, *serial_);
  for (const Tensor& tensor : program.tensors) {
    const bool is_sum = tensor.layout != kPartialMax;
    const bool comparable = tensor.kind != MemoryKind::Workspace && tensor.dtype != DType::Int32 && is_sum &&
                            serial_->find(tensor.value) != nullptr &&
                            static_cast<int64_t>(serial_->find(tensor.value)->size()) == tensor.bytes();
    if (!comparable) continue;
    auto comparison = std::make_unique<Comparison>();
    comparison->hashes.assign(static_cast<size_t>(program.tp()), 0);
    if (const auto found = least.find(tensor.value); found != least.end())
      comparison->least_squares = found->second;
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
        std::max(comparison.worst_replica_error, piece.sums.relative_error(comparison.least_squares));
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
  const double bound = parity_bound(program_.settings);
  for (const auto& [id, comparison] : comparisons_) {
    const std::lock_guard lock(comparison->mutex);
    if (comparison->seen < program_.tp()) continue;
    const bool replicated = program_.tensor(id).layout.kind == LayoutKind::Replicated;
    auto parity = std::make_shared<TensorParity>();
    parity->compared = true;
    parity->bound = bound;
    parity->relative_error = replicated ? comparison->worst_replica_error
                                        : comparison->result.sums.relative_error(comparison->least_squares);
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
