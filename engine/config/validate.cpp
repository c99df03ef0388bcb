// Validates settings. Every message names the remedy.
#include "engine/config/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/base/units.h"
#include "engine/config/hardware.h"
#include "engine/config/heads.h"

namespace shardlens {
namespace {

// The smallest epsilon. It is added to avoid a division by 0, and a smaller one would be 0 in fp32.
constexpr double kLeastEpsilon = std::numeric_limits<float>::denorm_min();

void check_range(const std::string& what, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return;
  throw request_error(fmt::format("{} = {} is not possible. Choose from {} to {}.", what, value, lowest,
                                  grouped_text(highest)));
}

// "4", "4 or 6".
std::string alternatives(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : " or ") + std::to_string(number);
  return text;
}

// The largest T that may cut heads that T does not divide.
int64_t uneven_limit(const Model& model) {
  return std::min<int64_t>(model.hidden, kMostLocalRanks);
}

// Returns the numbers of heads below and above the model's own that divide hidden. If possible, `ranks`
// divides them too.
std::vector<int> nearest_head_counts(const Model& model, int64_t ranks) {
  const auto suits = [&](int64_t heads) { return model.hidden % heads == 0 && heads % ranks == 0; };
  std::vector<int> nearest;
  int64_t below = model.heads - 1, above = model.heads + 1;
  while (below >= 1 && !suits(below)) --below;
  while (above <= model.hidden && !suits(above)) ++above;
  if (below >= 1) nearest.push_back(static_cast<int>(below));
  if (above <= model.hidden) nearest.push_back(static_cast<int>(above));
  return nearest.empty() && ranks > 1 ? nearest_head_counts(model, 1) : nearest;
}

// Zero heads need a cut between heads on both sides of attention. Other splits have no weights to pad.
bool pads_by_split(const Split& split) {
  return split.attn_qkv == Cut::Column && split.attn_proj == Cut::Row;
}

std::string heads_words(const Model& model) {
  return counted(model.key_heads(), model.is_grouped() ? "key head" : "head");
}

// Returns the reason why T is not possible: no policy helps, or only another one. Empty if the heads are not
// the problem.
std::string heads_reason(const Settings& settings) {
  const Model& model = settings.model;
  if (divides_heads(model, settings.tp)) return {};
  if (settings.heads_policy == HeadsPolicy::Padded && !can_pad_heads(model, settings.tp))
    return fmt::format("above {}, a zero head would read a key head that is not zero", heads_words(model));
  if (settings.heads_policy != HeadsPolicy::Strict) return {};
  if (settings.tp > model.heads)
    return fmt::format("there are only {} to share", counted(model.heads, "head"));
  if (model.is_grouped() && settings.tp > model.key_heads() && settings.tp % model.key_heads() == 0)
    return fmt::format("{} heads are not divisible by {}", model.heads, settings.tp);
  return fmt::format("{} {} not divisible by {}", heads_words(model), model.key_heads() == 1 ? "is" : "are",
                     settings.tp);
}

// Returns ", or choose the heads policy uneven or padded", with the policies that would let it run.
std::string policy_remedy(Settings settings) {
  std::string words;
  for (const HeadsPolicy policy : {HeadsPolicy::Uneven, HeadsPolicy::Padded}) {
    settings.heads_policy = policy;
    const std::vector<int> possible = possible_degrees(settings.model, settings.block, policy);
    const bool pads = policy != HeadsPolicy::Padded || pads_by_split(settings.split);
    if (!pads || !std::binary_search(possible.begin(), possible.end(), settings.tp)) continue;
    words += (words.empty() ? ", or choose the heads policy " : " or ") + to_string(policy);
  }
  return words;
}

void check_degree(const Settings& settings) {
  const Model& model = settings.model;
  const int tp = settings.tp;
  const HeadsPolicy policy = settings.heads_policy;
  const std::vector<int> possible = possible_degrees(model, settings.block, policy);
  if (!std::binary_search(possible.begin(), possible.end(), tp)) {
    std::string reason = tp >= 1 && settings.block != Block::Mlp ? heads_reason(settings) : "";
    if (tp < 1) {
      reason = "there must be at least one rank";
    } else if (settings.block == Block::Mlp) {
      reason = fmt::format("an MLP of {} x {} can have at most {} ranks here", model.hidden, model.ffn,
                           possible.back());
    } else if (reason.empty()) {
      reason =
          fmt::format("heads that T does not divide can have at most {} ranks here", uneven_limit(model));
    }
    throw request_error(fmt::format("T = {} is not possible: {}. Try {}{}.", tp, reason,
                                    alternatives(nearest_degrees(model, settings.block, tp, policy)),
                                    tp >= 1 && settings.block != Block::Mlp ? policy_remedy(settings) : ""));
  }
  const bool pads =
      policy == HeadsPolicy::Padded && settings.block != Block::Mlp && !divides_heads(model, tp);
  if (pads && !pads_by_split(settings.split)) {
    throw request_error(fmt::format(
        "zero heads need a column-parallel QKV and a row-parallel projection; split \"{}\" cuts them by {} "
        "and {}. Try split megatron, or the heads policy uneven.",
        shown(settings.split.name), to_string(settings.split.attn_qkv), to_string(settings.split.attn_proj)));
  }
}

// Refuses more ranks than the nodes of a hardware preset can hold.
void check_places(const Settings& settings) {
  const Hardware& hardware = find_hardware(settings.hardware);
  const int64_t ranks = int64_t{settings.tp} * settings.dp;
  if (hardware.most_ranks() == 0 || ranks <= hardware.most_ranks()) return;
  throw request_error(fmt::format(
      "T x D = {} x {} needs {} ranks, but {} has {}. Try T x D up to {}, or a preset without a number of "
      "nodes.",
      settings.tp, settings.dp, ranks, hardware.title, hardware.most_ranks(), hardware.most_ranks()));
}

// Checks what only a whole model has: micro-batches, dropout, an optimizer.
void validate_whole_model(const Settings& settings) {
  check_range("parts of the batch", settings.micro_batches, 1, kLargestBatch);
  const int64_t parts = static_cast<int64_t>(settings.dp) * settings.micro_batches;
  if (settings.batch % parts != 0) {
    const int64_t less = settings.batch / parts * parts;
    throw request_error(fmt::format("batch = {} is not divisible by D = {} times {}. Try batch {}{}.",
                                    settings.batch, settings.dp,
                                    counted(settings.micro_batches, "micro-batch", "micro-batches"),
                                    less > 0 ? fmt::format("{} or ", less) : "", less + parts));
  }
  if (settings.operands == Operands::Integer) {
    throw request_error(
        "integer operands are exact only within one layer; a whole model needs normal operands. Choose "
        "\"normal\".");
  }
  if (!(settings.dropout >= 0 && settings.dropout < 1)) {
    throw request_error(fmt::format("dropout = {} is not possible. Choose from 0 to below 1, such as 0.1.",
                                    settings.dropout));
  }
  const OptimizerSettings& o = settings.optimizer;
  const auto fraction = [](const char* what, double value) {
    if (value >= 0 && value < 1) return;
    throw request_error(fmt::format("{} = {} is not possible. Choose from 0 to below 1.", what, value));
  };
  fraction("beta1", o.beta1);
  fraction("beta2", o.beta2);
  fraction("weight decay", o.weight_decay);
  if (!(o.epsilon >= kLeastEpsilon))
    throw request_error(fmt::format("epsilon = {} must be above 0, also in fp32. Try 1e-8.", o.epsilon));
  if (!(o.clip >= 0)) throw request_error(fmt::format("clip = {} must be 0 (not clipped) or above.", o.clip));
}

// Checks a generation pass: new tokens of a GPT, after those in its cache.
void validate_cache(const Settings& settings) {
  const Model& model = settings.model;
  if (settings.block != Block::Model || model.objective != Objective::NextToken || !model.causal) {
    throw request_error(
        fmt::format("a cache of keys and values needs a whole model with a causal mask; {}",
                    settings.block != Block::Model ? "choose the whole model" : "choose a GPT model"));
  }
  check_range("cache", settings.cache_tokens, 1, model.positions);
  if (settings.seq > settings.cache_tokens) {
    throw request_error(fmt::format("{} new tokens do not fit in a cache of {}. Try a cache of {}.",
                                    settings.seq, settings.cache_tokens, settings.seq));
  }
  if (settings.micro_batches != 1) {
    throw request_error(
        fmt::format("a generation pass cannot run in {} micro-batches. Try 1.", settings.micro_batches));
  }
}

// Returns the size of the largest single tensor, in elements, as a double that cannot overflow: the attention
// probabilities, the MLP's inner activation or a weight.
double largest_tensor_elements(const Settings& settings) {
  const Model& model = settings.model;
  const double tokens = static_cast<double>(settings.batch) * static_cast<double>(settings.seq);
  const double keys = static_cast<double>(std::max(settings.seq, settings.cache_tokens));
  const double probabilities = tokens * static_cast<double>(model.heads) * keys;
  const double widest = std::max(3.0 * static_cast<double>(model.hidden), static_cast<double>(model.ffn));
  return std::max({probabilities, tokens * widest, static_cast<double>(model.hidden) * widest});
}

// Returns the largest value in [lowest, highest] for which fits(value) holds. It must hold for `lowest`, fail
// for `highest`, and change only once.
template <class Fits>
int64_t largest_fitting(int64_t lowest, int64_t highest, const Fits& fits) {
  while (highest - lowest > 1) {
    const int64_t middle = lowest + (highest - lowest) / 2;
    (fits(middle) ? lowest : highest) = middle;
  }
  return lowest;
}

}  // namespace

void validate_model(const Model& model, int ranks) {
  check_range("layers", model.layers, 1, kLargestLayers);
  check_range("hidden", model.hidden, 1, kLargestHidden);
  check_range("heads", model.heads, 1, model.hidden);
  check_range("ffn", model.ffn, 1, kLargestFfn);
  check_range("vocab", model.vocab, 1, kLargestVocab);
  check_range("positions", model.positions, 1, kLargestPositions);
  if (model.hidden % model.heads != 0) {
    throw request_error(fmt::format("hidden = {} is not divisible by {} heads. Try {} heads.", model.hidden,
                                    model.heads,
                                    alternatives(nearest_head_counts(model, std::max(1, ranks)))));
  }
  check_range("key heads", model.kv_heads, 0, model.heads);  // 0: as many as heads
  if (model.heads % model.key_heads() != 0) {
    std::vector<int> nearest;
    for (int64_t keys = model.key_heads(); keys >= 1 && nearest.empty(); --keys)
      if (model.heads % keys == 0) nearest.push_back(static_cast<int>(keys));
    for (int64_t keys = model.key_heads(); nearest.size() < 2; ++keys)
      if (model.heads % keys == 0) nearest.push_back(static_cast<int>(keys));
    throw request_error(fmt::format("{} heads are not divisible by {} key heads. Try {} key heads.",
                                    model.heads, model.key_heads(), alternatives(nearest)));
  }
  if (!(model.norm_epsilon >= kLeastEpsilon && model.norm_epsilon < 1)) {
    throw request_error(
        fmt::format("norm epsilon = {} is not possible. Choose above 0, also in fp32, and below 1, such as "
                    "1e-5.",
                    model.norm_epsilon));
  }
}

std::vector<int> possible_degrees(const Model& model, Block block, HeadsPolicy policy) {
  std::vector<int> degrees;
  if (block == Block::Mlp) {
    const int64_t most = std::min<int64_t>({model.hidden, model.ffn, kMostLocalRanks});
    for (int tp = 1; tp <= most; ++tp) degrees.push_back(tp);
    return degrees;
  }
  const int64_t most = std::min<int64_t>(std::max(model.heads, uneven_limit(model)), kLargestDegree);
  for (int tp = 1; tp <= most; ++tp) {
    // If T need not divide the heads, some ranks hold one head more than others, and a rank may hold none.
    const bool on_request =
        tp <= uneven_limit(model) &&
        (policy == HeadsPolicy::Uneven || (policy == HeadsPolicy::Padded && can_pad_heads(model, tp)));
    if (on_request || divides_heads(model, tp)) degrees.push_back(tp);
  }
  return degrees;
}

std::vector<int> nearest_degrees(const Model& model, Block block, int tp, HeadsPolicy policy) {
  const std::vector<int> possible = possible_degrees(model, block, policy);
  const auto above = std::upper_bound(possible.begin(), possible.end(), tp);
  std::vector<int> nearest;
  if (above != possible.begin()) nearest.push_back(*(above - 1));
  if (above != possible.end()) nearest.push_back(*above);
  return nearest;
}

void validate(const Settings& settings) {
  const Model& model = settings.model;
  validate_model(model, settings.heads_policy == HeadsPolicy::Strict ? settings.tp : 1);
  check_range("batch", settings.batch, 1, kLargestBatch);
  check_range("sequence", settings.seq, 1, kLargestPositions);
  if (settings.seq > model.positions) {
    throw request_error(fmt::format("sequence = {} is longer than the {} positions of {}. Try {}.",
                                    settings.seq, model.positions, model.title, model.positions));
  }
  check_range("layer", settings.layer, 0, model.layers - 1);
  check_range("D", settings.dp, 1, kLargestDegree);
  check_range("overlap parts", settings.overlap_chunks, 1, kMostOverlapChunks);
  check_range("threads per rank", settings.threads_per_rank, 0, 1024);
  if (!(settings.timeout_seconds >= 0 && settings.timeout_seconds <= kLongestTimeoutSeconds)) {
    throw request_error(
        fmt::format("a time-out of {} s is not possible: give up to {:.0f} s, or 0 to wait for ever",
                    settings.timeout_seconds, kLongestTimeoutSeconds));
  }
  check_degree(settings);
  check_places(settings);
  // Probabilities are not integers: each rank rounds its own term of a shared key head's gradient.
  if (settings.operands == Operands::Integer && settings.block != Block::Mlp && model.is_grouped() &&
      settings.tp > model.key_heads()) {
    throw request_error(
        fmt::format("integer operands are exact up to T = {}, one key head a rank; above that, ranks add "
                    "fractions. Try T = {}, or normal operands.",
                    model.key_heads(), model.key_heads()));
  }
  if (settings.block == Block::Model) validate_whole_model(settings);
  if (settings.cache_tokens != 0) validate_cache(settings);
  if (settings.input.kind != InputKind::Normal && settings.input.path.empty()) {
    throw request_error(
        fmt::format("input \"{}\" needs a file: give its path", to_string(settings.input.kind)));
  }
  constexpr double kMostBytes = 1e16;  // keeps every sum of bytes and FLOPs of a plan far inside 64 bits
  const double bytes = largest_tensor_elements(settings) * static_cast<double>(element_bytes(settings.dtype));
  if (bytes > kMostBytes) {
    throw request_error(
        fmt::format("one tensor of this layer alone would take {}. Choose a smaller batch ({}), "
                    "sequence ({}) or model.",
                    bytes_text(bytes), settings.batch, settings.seq));
  }
}

std::vector<DType> runnable_dtypes(Block block) {
  if (block == Block::Model) return {DType::Fp32, DType::Bf16, DType::Fp16, DType::Fp64};
  return {DType::Fp32, DType::Fp64};
}

namespace {

// Integer operands promise equal bits for every T, so what cannot keep the promise is refused.
void validate_integers(const Settings& settings) {
  // Norms of cut tokens are sums of fractions over the ranks, and what follows rounds them to integers: two
  // sums that differ in the last bit can be rounded to different integers.
  if (settings.block == Block::Layer && settings.split.norm == NormCut::Parallel && settings.tp > 1) {
    throw request_error(
        "integer operands are exact if one rank has the whole of a token. With \"norm\": \"parallel\", ranks "
        "add fractions. Try \"sequence\" or \"replicated\", or normal operands.");
  }
  if (!settings.weights_path.empty()) {
    throw request_error(fmt::format(
        "integer operands are drawn from the seed, but {} holds other weights. Leave the weights out, or "
        "choose normal operands.",
        settings.weights_path));
  }
}

}  // namespace

void validate_executable(const Settings& settings) {
  validate(settings);
  if (settings.operands == Operands::Integer) validate_integers(settings);
  const std::vector<DType> runnable = runnable_dtypes(settings.block);
  if (std::find(runnable.begin(), runnable.end(), settings.dtype) == runnable.end()) {
    throw request_error(
        fmt::format("One layer in {} can be planned but not run. Run with fp32 or fp64, or the whole model.",
                    to_string(settings.dtype)));
  }
  if (settings.dp != 1 && settings.block != Block::Model) {
    throw request_error(fmt::format("D = {} can be planned but one layer runs with D = 1.", settings.dp));
  }
  if (settings.tp <= kMostLocalRanks && settings.tp * settings.dp > kMostLocalRanks) {
    throw request_error(fmt::format("T x D = {} x {} ranks: at most {} run as threads here. Try D = {}.",
                                    settings.tp, settings.dp, kMostLocalRanks,
                                    std::max(1, kMostLocalRanks / settings.tp)));
  }
  if (settings.tp > kMostLocalRanks) {
    const std::vector<int> possible = possible_degrees(settings.model, settings.block, settings.heads_policy);
    const auto beyond = std::upper_bound(possible.begin(), possible.end(), kMostLocalRanks);
    throw request_error(fmt::format("T = {} can be planned but at most {} ranks run as threads here. Try {}.",
                                    settings.tp, kMostLocalRanks, *(beyond - 1)));
  }
}

void refuse_if_too_large(const Settings& settings, int64_t available_bytes, const MemoryNeed& needed_bytes,
                         const MemoryPlace& place) {
  const int64_t needed = needed_bytes(settings);
  if (needed <= available_bytes) return;

  Settings smaller = settings;
  std::vector<Settings> fitting;
  std::string recomputed;  // the cheapest way to keep less memory in the same run
  for (const Recompute recompute : {Recompute::Selective, Recompute::Full}) {
    if (settings.block != Block::Model || recompute <= settings.recompute || !recomputed.empty()) continue;
    smaller.recompute = recompute;
    const int64_t bytes = needed_bytes(smaller);
    if (bytes > available_bytes) continue;
    fitting.push_back(smaller);
    recomputed = fmt::format("With recompute {} it fits, in {}. ", to_string(recompute),
                             bytes_text(static_cast<double>(bytes)));
  }
  smaller.recompute = settings.recompute;
  // Every part of the batch on every replica has as many sequences: so the batch is a multiple of this.
  const int64_t least = settings.block == Block::Model ? int64_t{settings.dp} * settings.micro_batches : 1;
  const auto fits = [&](int64_t batch, int64_t seq) {
    smaller.batch = batch;
    smaller.seq = seq;
    return needed_bytes(smaller) <= available_bytes;
  };
  std::string remedy;
  if (fits(least, settings.seq)) {
    smaller.batch = least * largest_fitting(1, settings.batch / least, [&](int64_t multiple) {
                      return fits(least * multiple, settings.seq);
                    });
    remedy = fmt::format("The largest that fits at sequence {} is batch {}, with {}", settings.seq,
                         smaller.batch, bytes_text(static_cast<double>(needed_bytes(smaller))));
    fitting.push_back(smaller);
  } else if (fits(least, 1)) {
    smaller.seq = largest_fitting(1, settings.seq, [&](int64_t seq) { return fits(least, seq); });
    remedy = fmt::format("The largest that fits is batch {} with sequence {}, with {}", least, smaller.seq,
                         bytes_text(static_cast<double>(needed_bytes(smaller))));
    fitting.push_back(smaller);
  } else {
    remedy = fmt::format("Even batch {} with sequence 1 needs {}: choose a smaller model", least,
                         bytes_text(static_cast<double>(needed_bytes(smaller))));
  }
  const char* part = settings.block == Block::Mlp         ? "MLP block"
                     : settings.block == Block::Attention ? "attention block"
                     : settings.block == Block::Model     ? "model"
                                                          : "layer";
  const std::string where =
      !place.where.empty() ? place.where : fmt::format("{} together", counted(settings.tp, "rank"));
  throw TooLarge(
      fmt::format("this {} of {} at batch {}, sequence {} needs {} on {}, and {} are {}. {}{}{}.", part,
                  settings.model.title, settings.batch, settings.seq, bytes_text(static_cast<double>(needed)),
                  where, bytes_text(static_cast<double>(available_bytes)),
                  place.limit.empty() ? "free" : "left below the limit of " + place.limit, recomputed, remedy,
                  place.remedy.empty() ? "" : "; " + place.remedy),
      std::move(fitting));
}

}  // namespace shardlens
