// Pairs steps, tensors and passes, and finds the first difference.
#include "engine/record/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/config/settings_json.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

constexpr int64_t kMostTimedPasses = 32;
constexpr int64_t kPieceBytes = int64_t{64} << 20;  // for the piece that differs, with its values

void check(const std::stop_token& stop) {
  if (stop.stop_requested())
    throw Error(ErrorKind::Cancelled, "the comparison was stopped before it was done");
}

std::vector<SettingDiff> diff_settings(const Settings& a, const Settings& b) {
  // One name for each leaf: "split.mlp.fc".
  const auto flat = [](const Settings& settings) {
    std::map<std::string, std::string> leaves;
    const nlohmann::json flattened = nlohmann::json(settings_to_json(settings)).flatten();
    for (const auto& [place, value] : flattened.items()) {
      std::string key = place.substr(1);
      std::replace(key.begin(), key.end(), '/', '.');
      leaves[key] = value.is_string() ? value.get<std::string>() : json_text(value);
    }
    return leaves;
  };
  const std::map<std::string, std::string> of_a = flat(a), of_b = flat(b);
  std::map<std::string, SettingDiff> all;
  for (const auto& [key, word] : of_a) all[key] = {key, word, ""};
  for (const auto& [key, word] : of_b) all[key].key = key, all[key].b = word;
  std::vector<SettingDiff> different;
  for (auto& [key, one] : all)
    if (one.a != one.b) different.push_back(std::move(one));
  return different;
}

// Pairs steps by name, layer and phase. Several equal ones are paired in order.
void pair_steps(const Program& a, const Program& b, RecordingDiff& diff) {
  using Key = std::tuple<std::string, int, Phase>;
  std::map<Key, std::vector<StepId>> of_b;
  for (const Step& step : b.steps) of_b[{step.name, step.layer, step.phase}].push_back(step.id);
  std::map<Key, size_t> taken;
  std::vector<bool> paired(b.steps.size(), false);
  for (const Step& step : a.steps) {
    const Key key{step.name, step.layer, step.phase};
    const auto found = of_b.find(key);
    size_t& next = taken[key];
    if (found == of_b.end() || next >= found->second.size()) {
      diff.only_a.push_back(step.id);
      continue;
    }
    const StepId other = found->second[next++];
    paired[static_cast<size_t>(other)] = true;
    StepDiff one;
    one.a = step.id;
    one.b = other;
    one.a_sent_bytes = sent_bytes(a, step.id);
    one.b_sent_bytes = sent_bytes(b, other);
    diff.steps.push_back(one);
  }
  for (const Step& step : b.steps)
    if (!paired[static_cast<size_t>(step.id)]) diff.only_b.push_back(step.id);
}

// The metrics of every pass, by name.
using Metrics = std::map<std::string, std::map<int64_t, double>>;
Metrics metrics_of(const Recording& recording, int64_t passes) {
  Metrics metrics;
  recording.metrics(0, passes, 1, [&](int64_t pass, const std::string& name, double value) {
    metrics[name][pass] = value;
  });
  return metrics;
}

bool is_time(const std::string& name) {
  return name.ends_with("_seconds") || name.ends_with("_per_second") || name.ends_with("_flops");
}

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Training steps have numbers, and a run that was resumed begins at a later one.
int64_t offset_of(const Metrics& a, const Metrics& b) {
  const auto first = [](const Metrics& metrics) -> std::optional<int64_t> {
    const auto found = metrics.find("step");
    if (found == metrics.end() || !found->second.contains(0)) return std::nullopt;
    const double step = found->second.at(0);
    if (!(std::abs(step) < 1e15)) return std::nullopt;
    return static_cast<int64_t>(step);
  };
  const std::optional<int64_t> of_a = first(a), of_b = first(b);
  return of_a && of_b ? *of_a - *of_b : 0;
}

std::vector<MetricDiff> diff_metrics(const Metrics& a, const Metrics& b, int64_t offset) {
  std::vector<MetricDiff> diffs;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || name == "step") continue;
    MetricDiff one;
    one.name = name;
    one.is_time = is_time(name);
    for (const auto& [pass, value] : values) {
      const auto theirs = other->second.find(pass + offset);
      if (theirs == other->second.end()) continue;
      ++one.passes;
      if (one.first >= 0 && same_number(value, theirs->second)) continue;
      if (one.first < 0) one.a = value, one.b = theirs->second;
      if (same_number(value, theirs->second)) continue;
      if (one.first < 0) one.first = pass;
      const double difference = std::abs(value - theirs->second);
      one.largest = std::isnan(difference) ? INFINITY : std::max(one.largest, difference);
    }
    if (one.passes > 0) diffs.push_back(one);
  }
  return diffs;
}

void diff_memory(const Recording& a, const Recording& b, RecordingDiff& diff) {
  diff.a_high_water_bytes = a.high_water_bytes();
  diff.b_high_water_bytes = b.high_water_bytes();
  const auto fullest = [](const std::vector<BytesByKind>& ranks) {
    BytesByKind most{};
    for (const BytesByKind& rank : ranks)
      for (size_t kind = 0; kind < most.size(); ++kind) most[kind] = std::max(most[kind], rank[kind]);
    return most;
  };
  const BytesByKind of_a = fullest(diff.a_high_water_bytes), of_b = fullest(diff.b_high_water_bytes);
  for (size_t kind = 0; kind < of_a.size(); ++kind)
    if (of_a[kind] > 0 || of_b[kind] > 0)
      diff.memory.push_back({static_cast<MemoryKind>(kind), of_a[kind], of_b[kind]});
}

// Adds the times of each step in one pass: the slowest rank's, and the longest wait. Returns the time at
// which the last rank was done.
double add_times(const Program& program, const RecordedPass& pass, std::vector<double>& seconds,
                 std::vector<double>& waits) {
  double end = 0;
  for (size_t step = 0; step < program.steps.size(); ++step) {
    double longest = 0, longest_wait = 0;
    for (const std::vector<StepEvent>& rank : pass.events) {
      if (step >= rank.size()) continue;
      const StepEvent& event = rank[step];
      const double wait = is_collective(program.steps[step].op) ? event.wait_seconds() : 0;
      longest = std::max(longest, event.seconds() - wait);
      longest_wait = std::max(longest_wait, wait);
      end = std::max(end, event.end_seconds);
    }
    seconds[step] += longest;
    waits[step] += longest_wait;
  }
  return end;
}

struct Times {
  std::vector<double> seconds, waits;  // [step], summed over the passes that were read
  double pass_seconds = 0;

  explicit Times(const Program& program) : seconds(program.steps.size()), waits(program.steps.size()) {}
  void add(const Recording& recording, int64_t pass) {
    pass_seconds += add_times(recording.header().program, recording.pass(pass), seconds, waits);
  }
};

// Compares the times of the shared passes that both have traced. They begin at A's pass `first`.
void diff_times(const Recording& a, const Recording& b, int64_t first, const std::stop_token& stop,
                RecordingDiff& diff) {
  std::vector<int64_t> timed;  // of A, and traced in both
  const std::vector<int64_t> not_of_a = a.untraced_passes(), not_of_b = b.untraced_passes();
  for (int64_t pass = first; pass < first + diff.shared_passes; ++pass)
    if (!std::ranges::binary_search(not_of_a, pass) &&
        !std::ranges::binary_search(not_of_b, pass + diff.b_offset))
      timed.push_back(pass);
  const auto shared = static_cast<int64_t>(timed.size());
  diff.timed_passes = std::min(shared, kMostTimedPasses);
  if (diff.timed_passes == 0) return;
  Times of_a(a.header().program), of_b(b.header().program);
  for (int64_t i = 0; i < diff.timed_passes; ++i) {
    check(stop);
    const int64_t pass = timed[static_cast<size_t>(i * shared / diff.timed_passes)];
    of_a.add(a, pass);
    of_b.add(b, pass + diff.b_offset);
  }
  std::map<std::pair<Op, bool>, KindDiff> kinds;
  const auto add_kinds = [&](const Program& program, const Times& times, double KindDiff::*seconds,
                             double KindDiff::*waits) {
    for (const Step& step : program.steps) {
      KindDiff& kind = kinds[{step.op, step.overlapped}];
      kind.op = step.op;
      kind.overlapped = step.overlapped;
      kind.*seconds += times.seconds[static_cast<size_t>(step.id)] / static_cast<double>(diff.timed_passes);
      kind.*waits += times.waits[static_cast<size_t>(step.id)] / static_cast<double>(diff.timed_passes);
    }
  };
  add_kinds(a.header().program, of_a, &KindDiff::a_seconds, &KindDiff::a_wait_seconds);
  add_kinds(b.header().program, of_b, &KindDiff::b_seconds, &KindDiff::b_wait_seconds);
  for (const auto& [key, kind] : kinds) diff.kinds.push_back(kind);
  const double share = 1.0 / static_cast<double>(diff.timed_passes);
  diff.a_pass_seconds = of_a.pass_seconds * share;
  diff.b_pass_seconds = of_b.pass_seconds * share;
  for (double& seconds : of_a.seconds) seconds *= share;
  for (double& seconds : of_b.seconds) seconds *= share;
  for (StepDiff& step : diff.steps) {
    const auto at_a = static_cast<size_t>(step.a), at_b = static_cast<size_t>(step.b);
    step.a_seconds = of_a.seconds[at_a];
    step.b_seconds = of_b.seconds[at_b];
    step.a_wait_seconds = of_a.waits[at_a] * share;
    step.b_wait_seconds = of_b.waits[at_b] * share;
  }
  diff.a_step_seconds = std::move(of_a.seconds);
  diff.b_step_seconds = std::move(of_b.seconds);
}

// A tensor of both Programs. `ranks` is the number of ranks whose pieces can be compared; 0: the pieces are
// different parts of the tensor.
struct TensorPair {
  TensorId a = kNoTensor, b = kNoTensor;
  StepId a_step = -1;
  int ranks = 0;
  bool one_dtype = true;
};

// Pairs tensors by name, in the order in which A writes them: inputs first.
std::vector<TensorPair> pair_tensors(const Program& a, const Program& b) {
  std::map<std::string, TensorId> of_b;
  for (const Tensor& tensor : b.tensors) of_b[tensor.name] = tensor.id;
  std::vector<StepId> writer(a.tensors.size(), -1);
  for (const Step& step : a.steps)
    for (const TensorId out : step.outputs)
      if (writer[static_cast<size_t>(out)] < 0) writer[static_cast<size_t>(out)] = step.id;
  std::vector<TensorPair> pairs;
  for (const Tensor& tensor : a.tensors) {
    const auto found = of_b.find(tensor.name);
    if (found == of_b.end()) continue;
    const Tensor& other = b.tensor(found->second);
    TensorPair pair{tensor.id, other.id, writer[static_cast<size_t>(tensor.id)], 0,
                    tensor.dtype == other.dtype};
    const auto is_whole = [](const Program& program, const Tensor& of) {
      return of.layout.kind == LayoutKind::Replicated || program.tp() == 1;
    };
    const bool alike = pair.one_dtype && tensor.shape == other.shape;
    if (alike && a.tp() == b.tp() && tensor.layout == other.layout)
      pair.ranks = a.tp();
    else if (alike && is_whole(a, tensor) && is_whole(b, other))
      pair.ranks = 1;
    pairs.push_back(pair);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const TensorPair& x, const TensorPair& y) { return x.a_step < y.a_step; });
  return pairs;
}

bool has_hash(const HashTable& hashes, TensorId tensor) {
  return std::any_of(hashes.begin(), hashes.end(),
                     [&](const auto& rank) { return rank[static_cast<size_t>(tensor)].has_value(); });
}

// Tensors of a pass whose hashes only one recording has: only one Program has them, or only one kept them.
int64_t count_in_one(const HashTable& a, const HashTable& b, const std::vector<TensorPair>& pairs) {
  const auto count_hashed = [](const HashTable& hashes) {
    int64_t count = 0;
    for (size_t tensor = 0; tensor < hashes.front().size(); ++tensor)
      count += has_hash(hashes, static_cast<TensorId>(tensor));
    return count;
  };
  const int64_t in_both = std::count_if(pairs.begin(), pairs.end(), [&](const TensorPair& pair) {
    return has_hash(a, pair.a) && has_hash(b, pair.b);
  });
  return count_hashed(a) + count_hashed(b) - 2 * in_both;
}

// Compares the hashes of one pass. Returns true if both have any. Stores the first difference in `diff`.
bool compare_hashes(const HashTable& a, const HashTable& b, const std::vector<TensorPair>& pairs,
                    RecordingDiff& diff) {
  if (a.empty() || b.empty()) return false;
  Parting parting;
  bool any = false;
  int64_t cut_otherwise = 0, in_other_dtype = 0;
  for (const TensorPair& pair : pairs) {
    const auto at_a = static_cast<size_t>(pair.a), at_b = static_cast<size_t>(pair.b);
    bool compared = false, differs = false;
    for (int rank = 0; rank < std::max(pair.ranks, 1); ++rank) {
      const auto& mine = a[static_cast<size_t>(rank)][at_a];
      const auto& theirs = b[static_cast<size_t>(rank)][at_b];
      if (!mine || !theirs) continue;
      any = true;
      if (pair.ranks == 0) {
        ++(pair.one_dtype ? cut_otherwise : in_other_dtype);
        continue;
      }
      compared = true;
      ++diff.compared_hashes;
      if (*mine == *theirs || differs) continue;
      differs = true;
      if (parting.differing > 0) continue;
      parting.a_tensor = pair.a;
      parting.b_tensor = pair.b;
      parting.a_step = pair.a_step;
      parting.rank = rank;
      parting.a_hash = *mine;
      parting.b_hash = *theirs;
    }
    parting.compared += compared;
    parting.differing += differs;
  }
  diff.cut_otherwise = std::max(diff.cut_otherwise, cut_otherwise);
  diff.in_other_dtype = std::max(diff.in_other_dtype, in_other_dtype);
  diff.in_one = std::max(diff.in_one, count_in_one(a, b, pairs));
  if (parting.differing > 0) diff.parting = parting;
  return any;
}

void find_parting(const Recording& a, const Recording& b, int64_t first, const std::stop_token& stop,
                  RecordingDiff& diff) {
  const std::vector<TensorPair> pairs = pair_tensors(a.header().program, b.header().program);
  const MetricDiff* metric = nullptr;
  for (const MetricDiff& one : diff.metrics)
    if (!one.is_time && one.first >= 0 && (metric == nullptr || one.first < metric->first)) metric = &one;
  const int64_t end = metric != nullptr ? metric->first + 1 : first + diff.shared_passes;
  for (int64_t pass = first; pass < end && !diff.parting; ++pass) {
    check(stop);
    if (!compare_hashes(a.hashes(pass), b.hashes(pass + diff.b_offset), pairs, diff)) continue;
    ++diff.hashed_passes;
    if (diff.parting) diff.parting->a_pass = pass;
  }
  if (!diff.parting && metric != nullptr) {
    diff.parting.emplace();
    diff.parting->metric = metric->name;
    diff.parting->a_pass = metric->first;
  }
  if (diff.parting) diff.parting->b_pass = diff.parting->a_pass + diff.b_offset;
}

// Reads the piece's values in both runs, and finds the first element that differs.
void look_at_parting(const Recording& a, const Recording& b, Parting& parting) {
  const auto piece = [&](const Recording& recording, int64_t pass, TensorId tensor, uint64_t hash) {
    std::vector<bool> wanted(recording.header().program.tensors.size());
    wanted[static_cast<size_t>(tensor)] = true;
    const LatestSamples latest = recording.latest_samples(pass, wanted, {}, kPieceBytes);
    auto sample = latest.samples[static_cast<size_t>(parting.rank)][static_cast<size_t>(tensor)];
    return sample && sample->hash == hash ? sample : nullptr;
  };
  parting.a_piece = piece(a, parting.a_pass, parting.a_tensor, parting.a_hash);
  parting.b_piece = piece(b, parting.b_pass, parting.b_tensor, parting.b_hash);
  if (!parting.a_piece || !parting.b_piece) return;
  const TensorSample &of_a = *parting.a_piece, &of_b = *parting.b_piece;
  if (!of_a.has_exact() || !of_b.has_exact() || of_a.shape != of_b.shape) return;
  PartedElement found;
  found.elements = of_a.matrix.rows * of_a.matrix.cols;
  for (int64_t row = 0; row < of_a.matrix.rows; ++row) {
    for (int64_t col = 0; col < of_a.matrix.cols; ++col) {
      const double mine = of_a.value(row, col), theirs = of_b.value(row, col);
      // The hash is of the bits: zeros of two signs differ, and a NaN equals itself.
      if (std::bit_cast<uint64_t>(mine) == std::bit_cast<uint64_t>(theirs)) continue;
      const double difference = std::abs(mine - theirs);
      found.largest = std::isnan(difference) ? INFINITY : std::max(found.largest, difference);
      if (found.differing++ > 0) continue;
      found.row = row;
      found.col = col;
      found.a = mine;
      found.b = theirs;
    }
  }
  if (found.differing > 0) parting.element = found;
}

}  // namespace

bool RecordingDiff::compared_values() const {
  return compared_hashes > 0 ||
         std::any_of(metrics.begin(), metrics.end(), [](const MetricDiff& one) { return !one.is_time; });
}

std::vector<std::string> RecordingDiff::not_compared() const {
  std::vector<std::string> sentences;
  const auto say = [&](int64_t pieces, const char* one, const char* many) {
    if (pieces > 0) sentences.push_back(counted(pieces, "piece") + (pieces == 1 ? one : many));
  };
  say(in_other_dtype, " is of another dtype in the other recording and was not compared",
      " are of another dtype in the other recording and were not compared: the first difference may be in "
      "one of them");
  if (in_one > 0)
    sentences.push_back(fmt::format("{} in only one of the recordings and {} not compared",
                                    counted(in_one, "tensor is", "tensors are"),
                                    in_one == 1 ? "was" : "were"));
  if (hashed_passes > 0 && replicas > 1)
    sentences.push_back(fmt::format(
        "a recording holds the values of the first replica: those of the other {} were not compared",
        replicas - 1));
  say(cut_otherwise, " is cut differently over the ranks and was not compared",
      " are cut differently over the ranks and were not compared");
  return sentences;
}

RecordingDiff diff_recordings(const Recording& a, const Recording& b, std::stop_token stop) {
  RecordingDiff diff;
  const Program &of_a = a.header().program, &of_b = b.header().program;
  diff.settings = diff_settings(of_a.settings, of_b.settings);
  diff.replicas = std::max(of_a.dp(), of_b.dp());
  diff.same_program = of_a.steps == of_b.steps && of_a.tensors == of_b.tensors;
  diff.a_passes = a.passes();
  diff.b_passes = b.passes();
  pair_steps(of_a, of_b, diff);
  for (const Step& step : of_a.steps) diff.a_sent_bytes += sent_bytes(of_a, step.id);
  for (const Step& step : of_b.steps) diff.b_sent_bytes += sent_bytes(of_b, step.id);
  const Metrics metrics_a = metrics_of(a, diff.a_passes), metrics_b = metrics_of(b, diff.b_passes);
  diff.b_offset = offset_of(metrics_a, metrics_b);
  const int64_t first = std::max<int64_t>(0, -diff.b_offset);
  diff.shared_passes = std::max<int64_t>(0, std::min(diff.a_passes, diff.b_passes - diff.b_offset) - first);
  diff.metrics = diff_metrics(metrics_a, metrics_b, diff.b_offset);
  diff_memory(a, b, diff);
  diff_times(a, b, first, stop, diff);
  find_parting(a, b, first, stop, diff);
  if (diff.parting && diff.parting->metric.empty()) look_at_parting(a, b, *diff.parting);
  return diff;
}

}  // namespace shardlens
