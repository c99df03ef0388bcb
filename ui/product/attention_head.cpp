// Reads a head's queries, keys and probabilities, and computes its scores.
#include "ui/product/attention_head.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/runtime/dropped.h"
#include "engine/runtime/execute.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/plan/cache.h"
#include "ui/plan/seen_break.h"
#include "ui/plan/shown_plan.h"
#include "ui/plan/window_values.h"

namespace shardlens::ui {
namespace {

constexpr int64_t kMostTokens = 512;  ///< as many of a sequence as fit into a window

using Values = std::shared_ptr<const WindowValues>;

Picture square_of(const std::vector<double>& values, int64_t tokens) {
  Picture picture{static_cast<int>(tokens), static_cast<int>(tokens), {values.begin(), values.end()}, {}};
  measure_extent(picture);
  return picture;
}

/// True if the shown pass is a plain run's. A training's passes draw other masks, and a recording does not
/// say which.
bool draws_as_a_run(const Context& context) {
  return !context.replay.is_open() && !context.train.frozen && !seen_break(context);
}

std::shared_ptr<Head> make_head(const HeadPlaces& places, bool causal, int rank, const Values& queries,
                                const Values& keys, const Values& probabilities) {
  auto head = std::make_shared<Head>();
  const int64_t n = head->tokens = places.shown, d = places.features;
  const auto r = static_cast<size_t>(rank);
  const std::vector<double>&q = queries->ranks[r], &k = keys->ranks[r];
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  head->scores.resize(static_cast<size_t>(n * n));
  for (int64_t row = 0; row < n; ++row)
    for (int64_t col = 0; col < (causal ? row + 1 : n); ++col) {
      double score = 0;
      for (int64_t i = 0; i < d; ++i)
        score += q[static_cast<size_t>(row * d + i)] * k[static_cast<size_t>(col * d + i)];
      head->scores[static_cast<size_t>(row * n + col)] = score * scale;
      head->largest_score = std::max(head->largest_score, std::abs(score * scale));
    }
  if (probabilities) {
    head->probabilities = probabilities->ranks[r];
  } else {
    head->computed_here = true;
    head->probabilities.resize(head->scores.size());
    for (int64_t row = 0; row < n; ++row) {
      const int64_t seen = causal ? row + 1 : n;
      const double* const from = head->scores.data() + row * n;
      const double top = *std::max_element(from, from + seen);
      double sum = 0;
      for (int64_t col = 0; col < seen; ++col) sum += std::exp(from[col] - top);
      for (int64_t col = 0; col < seen; ++col)
        head->probabilities[static_cast<size_t>(row * n + col)] = std::exp(from[col] - top) / sum;
    }
  }
  double squares = 0;
  for (const double probability : head->probabilities) squares += probability * probability;
  const double cells = static_cast<double>(n * n) * (causal ? 0.5 : 1);
  head->usual_probability = std::sqrt(squares / std::max(cells, 1.0));
  head->scores_picture = square_of(head->scores, n);
  head->probabilities_picture = square_of(head->probabilities, n);
  return head;
}

}  // namespace

HeadPlaces places_of(const Program& program, const Step& step) {
  HeadPlaces places;
  const Model& model = program.settings.model;
  places.q = input_of(program, step, Operand::Q);
  const TensorId kv = input_of(program, step, Operand::Kv);
  places.k = kv == kNoTensor ? places.q : kv;
  const Tensor& q = program.tensor(places.q);
  places.sequences = std::max<int64_t>(step.attributes.batch, 1);
  places.tokens = q.shape[0] / places.sequences;
  places.shown = std::min(places.tokens, kMostTokens);
  places.features = q.shape.back();
  places.heads = kv == kNoTensor ? q.shape[2] : q.shape[1] * q.shape[2];
  places.key_group = kv == kNoTensor ? 1 : places.heads / model.key_heads();
  places.first_key_column = kv == kNoTensor ? places.heads * places.features : 0;
  const TensorId saved = output_of(program, step, Operand::Saved);
  if (saved != kNoTensor && program.tensor(saved).shape.back() == places.tokens) places.p = saved;
  return places;
}

int rank_of_head(const Program& program, const Step& step, const HeadPlaces& places, int64_t head) {
  const Tensor& context = program.tensor(step.outputs.front());
  if (context.layout.kind != LayoutKind::Sharded) return 0;
  for (int rank = 0; rank < program.tp(); ++rank)
    if (holds(context, program.tp(), rank, 0, head * places.features)) return rank;
  return -1;
}

bool is_everywhere(const Program& program, const Step& step) {
  return program.tensor(step.outputs.front()).layout.kind != LayoutKind::Sharded;
}

std::shared_ptr<const Head> head_of(const Context& context, const HeadPlaces& places, const Step& step,
                                    int rank, int64_t sequence, int64_t head, std::string& why) {
  const auto read = [&](const TensorWindow& window) {
    Values values = values_in(context, window);
    if (!values) why = why_no_values(context, window);
    return values;
  };
  const Values queries = read(places.queries(sequence, head)), keys = read(places.keys(sequence, head));
  const Values probabilities = places.p == kNoTensor ? nullptr : read(places.probabilities(sequence, head));
  if (!queries || !keys || (places.p != kNoTensor && !probabilities)) return nullptr;
  static Cache<std::vector<Values>, std::shared_ptr<const Head>, 18> known;  // 16 small ones, and large
  return known.of({queries, keys, probabilities}, [&] {
    auto made = make_head(places, step.attributes.causal, rank, queries, keys, probabilities);
    if (draws_as_a_run(context))
      made->dropped = dropped_probabilities(shared_shown_plan(context.snapshot)->program, step, rank,
                                            sequence, head, places.tokens, places.shown, PassNumbers().draw);
    return std::shared_ptr<const Head>(std::move(made));
  });
}

}  // namespace shardlens::ui
