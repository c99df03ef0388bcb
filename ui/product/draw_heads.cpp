// Draws an opened attention: the probabilities of every head in the lane of the rank that computes it, and
// one head large, scores beside probabilities. A rank has whole heads, so nothing here is sent.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"
#include "ui/plan/window_values.h"
#include "ui/product/page.h"
#include "ui/product/product_view.h"
#include "ui/stage/lanes.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {
namespace {

constexpr int64_t kMostTokens = 512;  ///< as many of a sequence as fit into a window

/// Where the parts of one head of one sequence lie in the tensors of the step.
struct HeadPlaces {
  int64_t sequences = 1, tokens = 1, shown = 1;  ///< `shown` of a sequence's tokens
  int64_t heads = 1, features = 1;
  TensorId q = kNoTensor, k = kNoTensor, p = kNoTensor;  ///< p: kNoTensor if only row statistics are kept
  int64_t key_group = 1;                                 ///< heads that share a key
  int64_t first_key_column = 0;

  TensorWindow queries(int64_t sequence, int64_t head) const {
    return window(q, sequence, head * features, features);
  }
  TensorWindow keys(int64_t sequence, int64_t head) const {
    return window(k, sequence, first_key_column + head / key_group * features, features);
  }
  TensorWindow probabilities(int64_t sequence, int64_t head) const {
    return window(p, sequence, head * tokens, shown);
  }

 private:
  TensorWindow window(TensorId id, int64_t sequence, int64_t column, int64_t columns) const {
    const int64_t row = sequence * tokens;
    return {id, {row, row + shown}, {column, column + columns}};
  }
};

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

/// The rank that computes a head, or -1.
int rank_of_head(const Program& program, const Step& step, const HeadPlaces& places, int64_t head) {
  const Tensor& context = program.tensor(step.outputs.front());
  if (context.layout.kind != LayoutKind::Sharded) return 0;
  for (int rank = 0; rank < program.tp(); ++rank)
    if (holds(context, program.tp(), rank, 0, head * places.features)) return rank;
  return -1;
}

/// One head of one sequence: scores computed here from the run's Q and K, and probabilities.
struct Head {
  int64_t tokens = 0;
  std::vector<double> scores, probabilities;
  Picture scores_picture, probabilities_picture;
  double largest_score = 0;
  bool computed_here = false;  ///< the probabilities too: the run kept only row statistics
};

using Values = std::shared_ptr<const WindowValues>;

Picture square_of(const std::vector<double>& values, int64_t tokens) {
  Picture picture{static_cast<int>(tokens), static_cast<int>(tokens), {values.begin(), values.end()}, {}};
  measure_extent(picture);
  return picture;
}

std::shared_ptr<const Head> make_head(const HeadPlaces& places, bool causal, int rank, const Values& queries,
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
  head->scores_picture = square_of(head->scores, n);
  head->probabilities_picture = square_of(head->probabilities, n);
  return head;
}

/// Null while its values are not known; then `why` says why.
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
  static Cache<std::vector<Values>, std::shared_ptr<const Head>, 2> known;
  return known.of({queries, keys, probabilities}, [&] {
    return make_head(places, step.attributes.causal, rank, queries, keys, probabilities);
  });
}

/// A head's probabilities, small: the part of the rank's picture that belongs to it.
void draw_small(const Page& page, const std::shared_ptr<const TensorSample>& sample, const HeadPlaces& places,
                int64_t sequence, int64_t local_head, int64_t local_heads, const Rect& place) {
  const auto share = [](int64_t at, int64_t all) { return static_cast<float>(at) / static_cast<float>(all); };
  page.context.heatmaps.draw(page.list, place.min, place.max, sample, sample->picture,
                             {ColourMap::Magnitude, std::max(3 * sample->stats.rms, 1e-9)},
                             {share(local_head, local_heads), share(sequence, places.sequences)},
                             {share(local_head + 1, local_heads), share(sequence + 1, places.sequences)});
}

/// A large matrix of one head with its title; a tooltip has the value under the mouse.
void draw_large(const Page& page, const std::shared_ptr<const Head>& head, bool scores,
                const std::string& title, const std::string& words, const Rect& room, ImU32 outline,
                bool causal) {
  const TextStyle bold = page.type.strong;
  draw_text(page.list, room.min, bold, title);
  const float below = room.min.y + bold.size + page.px(2);
  draw_text(page.list, {room.min.x, below}, page.type.note, fitted(page.type.note, words, room.width()));
  const float top = below + page.type.note.size + page.px(8);
  const float side = std::min(room.width(), room.max.y - top);
  if (side < page.px(40)) return;
  const Rect place{{room.min.x, top}, {room.min.x + side, top + side}};
  const ColourScale scale = scores ? ColourScale{ColourMap::Signed, std::max(head->largest_score, 1e-9)}
                                   : ColourScale{ColourMap::Magnitude, std::max(0.3, 1e-9)};
  page.context.heatmaps.draw(page.list, place.min, place.max, head,
                             scores ? head->scores_picture : head->probabilities_picture, scale);
  outline_rect(page.list, place.min, place.max, outline, 0, page.thin(2));
  if (causal && scores) {
    const TextStyle note = page.type.note;
    const std::string masked = "masked: later tokens";
    const ImVec2 at{place.max.x - page.px(8), place.min.y + page.px(8)};
    const float width = text_width(note, masked) + page.px(12);
    fill_rect(page.list, {at.x - width, at.y}, {at.x, at.y + note.size + page.px(6)}, page.theme.panel,
              page.px(3));
    draw_text(page.list, {at.x - page.px(6), at.y + page.px(3)}, note, masked, Align::Right);
  }
  const ImVec2 mouse = ImGui::GetMousePos();
  if (page.context.view.covered() || !ImGui::IsWindowHovered() || !place.contains(mouse)) return;
  const auto cell = [&](float at, float begin) {
    return std::clamp<int64_t>(static_cast<int64_t>((at - begin) / side * static_cast<float>(head->tokens)),
                               0, head->tokens - 1);
  };
  const int64_t row = cell(mouse.y, place.min.y), col = cell(mouse.x, place.min.x);
  const double value =
      (scores ? head->scores : head->probabilities)[static_cast<size_t>(row * head->tokens + col)];
  if (causal && col > row)
    ImGui::SetTooltip("token %lld may not see token %lld", static_cast<long long>(row),
                      static_cast<long long>(col));
  else
    ImGui::SetTooltip("token %lld looks at token %lld: %s %.6g", static_cast<long long>(row),
                      static_cast<long long>(col), scores ? "score" : "probability", value);
}

}  // namespace

void draw_heads(const Page& page, const Step& step, const Rect& room) {
  const Context& context = page.context;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  const Program& program = plan->program;
  const HeadPlaces places = places_of(program, step);
  auto& view = context.view.of<ProductView>();
  view.head = std::clamp<int64_t>(view.head, 0, places.heads - 1);
  view.sequence = std::clamp<int64_t>(view.sequence, 0, places.sequences - 1);
  const int ranks = program.tp();
  const std::shared_ptr<const Result> result = shown_result(context.snapshot);
  const bool has_run = result && static_cast<size_t>(step.id) < context.snapshot.position;

  // The head's equation, and which sequence is shown.
  const TextStyle equation{context.fonts.mono, page.px(17), page.theme.text};
  draw_text(page.list, {room.min.x, room.min.y + page.px(4)}, equation, step.equation);
  std::vector<std::string> sequences;
  for (int64_t i = 0; i < std::min<int64_t>(places.sequences, 6); ++i)
    sequences.push_back(fmt::format("sequence {}", i));
  if (sequences.size() > 1) {
    const ImVec2 at{room.max.x - choice_row_width(context, sequences), room.min.y};
    const int clicked = choice_row(context, "sequence", at, sequences, static_cast<int>(view.sequence));
    if (clicked >= 0) view.sequence = clicked;
  }

  // A lane for each rank with its heads.
  const float top = room.min.y + page.px(36), lanes_height = std::min(room.height() * 0.34f, page.px(230));
  const float gap = page.px(10), head_bar = page.px(26);
  const auto lanes = static_cast<float>(ranks);
  const float width = (room.width() - gap * (lanes - 1)) / lanes;
  for (int rank = 0; rank < ranks; ++rank) {
    const Rect lane{{room.min.x + static_cast<float>(rank) * (width + gap), top},
                    {room.min.x + static_cast<float>(rank) * (width + gap) + width, top + lanes_height}};
    fill_rect(page.list, lane.min, lane.max, page.theme.panel, page.px(4));
    fill_rect(page.list, lane.min, {lane.min.x + page.px(4), lane.min.y + head_bar},
              page.theme.ranks[rank % 8]);
    std::vector<int64_t> own;
    for (int64_t head = 0; head < places.heads; ++head) {
      const bool everywhere = program.tensor(step.outputs.front()).layout.kind != LayoutKind::Sharded;
      if (everywhere || rank_of_head(program, step, places, head) == rank) own.push_back(head);
    }
    const std::string title = fmt::format("rank {}", rank);
    draw_text(page.list, {lane.min.x + page.px(12), lane.min.y + page.px(5)}, page.type.strong, title);
    const std::string count = fmt::format("{} of {} heads", own.size(), places.heads);
    if (width > page.px(180))
      draw_text(page.list, {lane.max.x - page.px(8), lane.min.y + page.px(7)}, page.type.note, count,
                Align::Right);
    if (own.empty()) continue;
    // As many columns as make the pictures largest.
    const auto heads = static_cast<float>(own.size());
    const float label = page.px(18), room_x = width - page.px(16),
                room_y = lanes_height - head_bar - page.px(8);
    float side = 0;
    int columns = 1;
    for (int tried = 1; tried <= static_cast<int>(own.size()); ++tried) {
      const float across = room_x / static_cast<float>(tried) - page.px(6);
      const float down = room_y / std::ceil(heads / static_cast<float>(tried)) - label - page.px(4);
      if (std::min(across, down) > side) side = std::min(across, down), columns = tried;
    }
    std::shared_ptr<const TensorSample> sample;
    if (has_run && places.p != kNoTensor && static_cast<size_t>(rank) < result->samples.size())
      sample = result->samples[static_cast<size_t>(rank)][static_cast<size_t>(places.p)];
    for (size_t i = 0; i < own.size(); ++i) {
      const auto column = static_cast<float>(i % static_cast<size_t>(columns)),
                 line = static_cast<float>(i / static_cast<size_t>(columns));
      const ImVec2 at{std::round(lane.min.x + page.px(10) + column * (side + page.px(6))),
                      std::round(lane.min.y + head_bar + page.px(6) + line * (side + label + page.px(4)))};
      const Rect place{{at.x, at.y + label}, {at.x + side, at.y + label + side}};
      const bool chosen = own[i] == view.head;
      ImGui::SetCursorScreenPos(at);
      if (click_area(fmt::format("head {} of rank {}", own[i], rank).c_str(), {side, side + label}))
        view.head = own[i];
      const bool hovered = ImGui::IsItemHovered();
      fill_rect(page.list, place.min, place.max, page.theme.ghost);
      if (sample && !sample->picture.values.empty())
        draw_small(page, sample, places, view.sequence, static_cast<int64_t>(i),
                   static_cast<int64_t>(own.size()), place);
      outline_rect(page.list, place.min, place.max,
                   chosen    ? page.theme.forward
                   : hovered ? page.theme.text
                             : page.rank_ink(rank),
                   0, page.thin(chosen ? 3 : 1.5f));
      draw_text(page.list, at,
                in(chosen ? page.type.strong : page.type.note, chosen ? page.theme.text : page.theme.dim),
                fitted(page.type.note,
                       side > page.px(48) ? fmt::format("head {}", own[i]) : std::to_string(own[i]), side));
    }
  }

  // One head, large.
  const Rect large{{room.min.x, top + lanes_height + page.px(14)}, room.max};
  const int rank = std::max(rank_of_head(program, step, places, view.head), 0);
  std::string why;
  const auto head = has_run ? head_of(context, places, step, rank, view.sequence, view.head, why) : nullptr;
  if (!head) {
    const std::string words = has_run ? why : "Attention has not run yet: there are no values.";
    draw_wrapped(page.list, {large.min.x, large.min.y + large.height() / 3},
                 in(page.type.body, page.theme.dim), words, large.width());
    return;
  }
  const float half = std::min((large.width() - page.px(340)) / 2, large.height());
  const std::string of = fmt::format("of head {}, on rank {}", view.head, rank);
  const std::string tokens =
      places.shown < places.tokens ? fmt::format(", its first {} tokens", places.shown) : "";
  draw_large(page, head, true, "scores " + of,
             "Q \u00B7 K\u1D40 / \u221Ad, computed here from the run's Q and K",
             {large.min, {large.min.x + half, large.max.y}}, page.rank_ink(rank), step.attributes.causal);
  const float x = large.min.x + half + page.px(40);
  draw_large(page, head, false, "probabilities " + of,
             head->computed_here ? "softmax of the scores, computed here: the run keeps only row sums"
                                 : "softmax of the scores, of the run",
             {{x, large.min.y}, {x + half, large.max.y}}, page.rank_ink(rank), step.attributes.causal);
  const float text = x + half + page.px(24);
  if (large.max.x - text < page.px(160)) return;
  float y = large.min.y + page.px(30);
  const std::string sentences[] = {
      fmt::format("A row is a token of sequence {}{}; a column is a token that it looks at.", view.sequence,
                  tokens),
      "Each row of the probabilities sums to 1. So a rank needs whole rows of a head, and a head's rows need "
      "only "
      "that head's Q and K.",
      ranks == 1
          ? "One rank has every head."
          : fmt::format("Each rank has whole heads: head {} is on rank {} alone, and nothing is sent inside "
                        "attention.",
                        view.head, rank)};
  for (const std::string& sentence : sentences)
    y += draw_wrapped(page.list, {text, y}, page.type.body, sentence, large.max.x - text) + page.px(12);
}

}  // namespace shardlens::ui
