// Compares what each rank of each replica holds with the right values, and joins the results.
#include "engine/runtime/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/units.h"
#include "engine/config/hardware.h"
#include "engine/io/hash.h"
#include "engine/runtime/parity_piece.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/tensor_size.h"

namespace shardlens {

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

struct ParityCheck::Comparison {
  // Which ranks and replicas hold the same bits of a tensor that is no Partial.
  struct Holders {
    int tp = 1, dp = 1;
    int copies = 1;                // consecutive ranks of a replica that hold the same slice
    bool of_all_ranks = false;     // Replicated
    bool of_all_replicas = false;  // OnReplicas::Same

    int world(int replica, int rank) const { return replica * tp + rank; }
    // The first of those that hold the same bits as this rank.
    int first(int replica, int rank) const {
      return world(of_all_replicas ? 0 : replica, of_all_ranks ? 0 : rank / copies * copies);
    }
    bool is_alone() const { return !(of_all_ranks && tp > 1) && !(of_all_replicas && dp > 1) && copies == 1; }
    // The full tensors that the ranks hold together, and the one that a rank's piece belongs to.
    int wholes() const { return (of_all_ranks ? tp : 1) * (of_all_replicas ? dp : 1); }
    int whole_of(int replica, int rank) const {
      return (of_all_replicas ? replica : 0) * (of_all_ranks ? tp : 1) + (of_all_ranks ? rank : 0);
    }
  };

  // The bits of a piece, and how far they are from what is right.
  struct KnownPiece {
    int first_holder = 0;
    uint64_t hash = 0;
    ParitySums sums;
  };

  std::mutex mutex;
  OnReplicas of = OnReplicas::Same;
  Holders holders;
  std::vector<const void*> right;  // [replica]: the elements that it should have
  double norm_of_terms = 0;        // if they cancel: what the error is relative to
  bool sums_fractions = false;     // no integers, whatever the operands

  int seen = 0;                      // pieces
  std::vector<uint64_t> hashes;      // [world rank], where several hold the same bits
  std::vector<KnownPiece> known;     // compared pieces: equal bits are not compared again
  std::vector<TotalOfTerms> totals;  // Partial: [replica]; terms of the replicas: one
  std::vector<int> terms_seen;       // of each total
  std::vector<ParitySums> wholes;    // by Holders::whole_of()
  double worst_squares = 0;          // of a piece's difference, which is on:
  int replica = -1, rank = -1;
  std::unique_ptr<DifferencePicture> sums_of_picture;
  Picture difference;  // set when all ranks have shown their piece

  bool is_of_terms(const Tensor& tensor) const {
    return of == OnReplicas::Terms || tensor.layout.kind == LayoutKind::Partial;
  }
  // A piece on a rank of a replica; -1: on all.
  void take(ParityPiece piece, int at_replica, int at_rank) {
    wholes[static_cast<size_t>(holders.whole_of(std::max(at_replica, 0), std::max(at_rank, 0)))].join(
        piece.sums);
    const double squares = piece.sums.difference_squares;
    if (std::isnan(squares) ? !std::isnan(worst_squares) : squares > worst_squares) {
      worst_squares = squares;
      replica = at_replica;
      rank = at_rank;
    }
    if (piece.picture && sums_of_picture) sums_of_picture->join(*piece.picture);
    if (piece.picture && !sums_of_picture) sums_of_picture = std::move(piece.picture);
  }
  // Frees the sums behind the picture, because they are several times the picture's size.
  void finish() {
    if (sums_of_picture) difference = sums_of_picture->means();
    sums_of_picture.reset();
    known = {};
  }
};

ParityCheck::ParityCheck(const Program& program, std::shared_ptr<const SerialReference> serial, bool pictures)
    : ParityCheck(program, std::vector{std::move(serial)}, false, pictures) {}

ParityCheck::ParityCheck(const Program& program, std::vector<std::shared_ptr<const SerialReference>> right,
                         bool pictures)
    : ParityCheck(program, std::move(right), true, pictures) {}

ParityCheck::ParityCheck(const Program& program,
                         std::vector<std::shared_ptr<const SerialReference>> references, bool of_each_replica,
                         bool pictures)
    : program_(program),
      references_(std::move(references)),
      of_each_replica_(of_each_replica),
      picture_extent_(pictures ? picture_extent(program, 1) : 0) {
  const double bound = bound_of_fractions(program.settings);
  const std::map<std::string, TensorSize> sizes = tensor_sizes(program, *references_.front(), bound);
  const std::set<std::string> fractions = sums_of_fractions(program);
  const std::vector<OnReplicas> replicas = on_replicas(program);
  for (const Tensor& tensor : program.tensors) {
    const bool has_no_rows = !of_each_replica && is_part_of_a_sum(program, tensor);
    if (tensor.kind == MemoryKind::Workspace || has_no_rows) continue;
    auto comparison = std::make_unique<Comparison>();
    comparison->of = replicas[static_cast<size_t>(tensor.id)];
    if (of_each_replica && comparison->of == OnReplicas::Terms) comparison->of = OnReplicas::Rows;
    comparison->right = right_elements(tensor, comparison->of);
    if (comparison->right.empty()) continue;
    const bool replicated = tensor.layout.kind == LayoutKind::Replicated;
    comparison->holders = {program.tp(), program.dp(), tensor.layout.copies, replicated,
                           comparison->of == OnReplicas::Same};
    comparison->hashes.assign(static_cast<size_t>(program.tp() * program.dp()), 0);
    comparison->wholes.resize(static_cast<size_t>(comparison->holders.wholes()));
    if (comparison->is_of_terms(tensor)) {
      comparison->totals.resize(comparison->of == OnReplicas::Terms ? 1 : static_cast<size_t>(program.dp()));
      comparison->terms_seen.resize(comparison->totals.size());
    }
    if (const auto found = sizes.find(tensor.value); found != sizes.end() && found->second.is_cancelled()) {
      const int pieces = comparison->of == OnReplicas::Rows ? program.dp() : 1;
      comparison->norm_of_terms =
          found->second.terms * std::sqrt(static_cast<double>(element_count(tensor.shape) * pieces));
    }
    comparison->sums_fractions = fractions.count(tensor.value) > 0;
    comparisons_[tensor.id] = std::move(comparison);
  }
}

ParityCheck::~ParityCheck() = default;

// The elements that each replica should have; empty if they are not known.
std::vector<const void*> ParityCheck::right_elements(const Tensor& tensor, OnReplicas of) const {
  std::vector<const void*> right;
  const int64_t count = element_count(tensor.shape);
  for (int replica = 0; replica < program_.dp(); ++replica) {
    const size_t own = of_each_replica_ ? static_cast<size_t>(replica) : 0;
    const SerialPlace place =
        of_each_replica_ ? SerialPlace{tensor.value, 0} : serial_place(program_, tensor, of, replica);
    const SerialValue* value = references_[own]->value(place.value);
    if (value == nullptr && of == OnReplicas::Same) value = references_.front()->value(place.value);
    const int64_t first = place.first_row * (count / tensor.shape[0]);
    // A value without a window must be as large there as here.
    const bool is_whole = of_each_replica_ || of == OnReplicas::Terms ||
                          (of == OnReplicas::Same && place.value == tensor.value);
    const bool fits = value != nullptr && value->dtype == tensor.dtype && first + count <= value->count &&
                      (!is_whole || value->count == count);
    if (!fits) return {};
    right.push_back(value->bytes.data() + first * element_bytes(tensor.dtype));
  }
  return right;
}

void ParityCheck::take_piece(Comparison& comparison, const Tensor& tensor, int replica, int rank,
                             const void* data) {
  const Comparison::Holders& holders = comparison.holders;
  // The picture is of the first replica, and where all ranks hold the whole tensor, of the first rank.
  const bool pictured = replica == 0 && (!holders.of_all_ranks || rank == 0);
  const int64_t picture = pictured ? picture_extent_ : 0;
  const int64_t bytes = local_bytes(tensor, program_.tp(), rank);
  const uint64_t hash = holders.is_alone() ? 0 : hash64(data, static_cast<size_t>(bytes));
  const int first = holders.first(replica, rank);
  std::optional<ParityPiece> piece;
  if (!holders.is_alone() && picture == 0) {
    const std::lock_guard lock(comparison.mutex);
    for (const Comparison::KnownPiece& known : comparison.known)
      if (known.first_holder == first && known.hash == hash) piece = ParityPiece{known.sums, nullptr};
  }
  const bool is_new = !piece;
  if (is_new)
    piece = compare_piece(tensor, program_.tp(), rank, data, comparison.right[static_cast<size_t>(replica)],
                          picture);
  const std::lock_guard lock(comparison.mutex);
  if (is_new && !holders.is_alone()) comparison.known.push_back({first, hash, piece->sums});
  comparison.hashes[static_cast<size_t>(holders.world(replica, rank))] = hash;
  comparison.take(std::move(*piece), replica, rank);
  if (++comparison.seen == program_.tp() * program_.dp()) comparison.finish();
}

void ParityCheck::add_term(Comparison& comparison, const Tensor& tensor, int replica, int rank,
                           const void* data) {
  const Comparison::Holders& holders = comparison.holders;
  const bool of_replicas = comparison.of == OnReplicas::Terms;
  const bool partial = tensor.layout.kind == LayoutKind::Partial;
  // What several ranks of a replica hold is one term, but its bits must be the same.
  const bool is_again = !partial && holders.first(replica, rank) != holders.world(replica, rank);
  const int64_t bytes = local_bytes(tensor, program_.tp(), rank);
  const uint64_t hash = partial ? 0 : hash64(data, static_cast<size_t>(bytes));
  const size_t total = of_replicas ? 0 : static_cast<size_t>(replica);
  const std::lock_guard lock(comparison.mutex);
  comparison.hashes[static_cast<size_t>(holders.world(replica, rank))] = hash;
  if (!is_again) comparison.totals[total].add(tensor, program_.tp(), rank, data);
  ++comparison.seen;
  if (++comparison.terms_seen[total] < program_.tp() * (of_replicas ? program_.dp() : 1)) return;
  comparison.take(comparison.totals[total].compare(
                      tensor, comparison.right[static_cast<size_t>(of_replicas ? 0 : replica)],
                      of_replicas || replica == 0 ? picture_extent_ : 0),
                  of_replicas ? -1 : replica, -1);
  comparison.totals[total] = {};
  if (comparison.seen == program_.tp() * program_.dp()) comparison.finish();
}

void ParityCheck::on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) {
  on_replica_tensor(0, rank, step, tensor, data);
}

void ParityCheck::on_replica_tensor(int replica, int rank, StepId, const Tensor& tensor, const void* data) {
  const auto found = comparisons_.find(tensor.id);
  if (found == comparisons_.end()) return;
  Comparison& comparison = *found->second;
  if (comparison.is_of_terms(tensor)) {
    add_term(comparison, tensor, replica, rank, data);
  } else {
    take_piece(comparison, tensor, replica, rank, data);
  }
}

ParityTable ParityCheck::results() const {
  ParityTable results(program_.tensors.size());
  const double bound = parity_bound(program_.settings), of_fractions = bound_of_fractions(program_.settings);
  for (const auto& [id, comparison] : comparisons_) {
    const std::lock_guard lock(comparison->mutex);
    if (comparison->seen < program_.tp() * program_.dp()) continue;
    auto parity = std::make_shared<TensorParity>();
    parity->compared = true;
    parity->bound = program_.tensor(id).dtype == DType::Int32 ? 0
                    : comparison->sums_fractions              ? of_fractions
                                                              : bound;
    parity->relative_to_terms = comparison->norm_of_terms > 0;
    for (const ParitySums& whole : comparison->wholes) {
      parity->relative_error =
          std::max(parity->relative_error, whole.relative_error(comparison->norm_of_terms));
      if (!(whole.max_abs_difference <= parity->max_abs_error))
        parity->max_abs_error = whole.max_abs_difference;
    }
    parity->replica = comparison->replica;
    parity->rank = comparison->rank;
    const Comparison::Holders& holders = comparison->holders;
    for (int replica = 0; replica < program_.dp(); ++replica) {
      for (int rank = 0; rank < program_.tp(); ++rank) {
        const auto own = static_cast<size_t>(holders.world(replica, rank));
        const auto first = static_cast<size_t>(holders.first(replica, rank));
        if (comparison->hashes[own] == comparison->hashes[first]) continue;
        if (parity->ranks_identical && parity->replica < 0) parity->replica = replica, parity->rank = rank;
        parity->ranks_identical = false;
      }
    }
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
  // The replicas' terms of a gradient are added up in fp64 until all have come.
  const std::vector<OnReplicas> replicas = on_replicas(plan.program);
  for (const Tensor& tensor : plan.program.tensors)
    if (replicas[static_cast<size_t>(tensor.id)] == OnReplicas::Terms)
      values_bytes += element_count(tensor.shape) * element_bytes(DType::Fp64);
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

ParitySummary summarise(const Program& program, const ParityTable& parity) {
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
  summary.coverage = coverage_of(program, parity);
  return summary;
}

}  // namespace shardlens
