// Draws an opened attention: the probabilities of every head in the lane of the rank that computes it, and
// one head large, scores beside probabilities. A rank has whole heads, so nothing here is sent.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "ui/plan/shown_plan.h"
#include "ui/product/attention_head.h"
#include "ui/product/page.h"
#include "ui/product/product_view.h"
#include "ui/stage/lanes.h"
#include "ui/theme/colour_scale.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastMarkedCell = 4;     ///< pixels
constexpr int64_t kMostMarkedHeads = 16;  ///< whose values are read at once
constexpr float kLeastHead = 28;  ///< the smallest picture of a head in which its triangle can be seen

/// A head's probabilities, small: the part of the rank's picture that belongs to it. Returns their colours.
ColourScale draw_small(const OpenedPage& page, const std::shared_ptr<const TensorSample>& sample,
                       const HeadPlaces& places, int64_t sequence, int64_t local_head, int64_t local_heads,
                       const Rect& place) {
  const auto share = [](int64_t at, int64_t all) { return static_cast<float>(at) / static_cast<float>(all); };
  const ColourScale scale{ColourMap::Magnitude, std::max(3 * sample->stats.rms, 1e-9)};
  page.context.heatmaps.draw(page.list, place.min, place.max, sample, sample->picture, scale,
                             {share(local_head, local_heads), share(sequence, places.sequences)},
                             {share(local_head + 1, local_heads), share(sequence + 1, places.sequences)});
  return scale;
}

bool is_dropped(const Head& head, int64_t row, int64_t col) {
  return !head.dropped.empty() && head.dropped[static_cast<size_t>(row * head.tokens + col)];
}

/// Marks what dropout sets to zero before the probabilities are multiplied by V. Their values stay visible
/// around the mark.
void draw_dropped(const OpenedPage& page, const Head& head, const Rect& place, ColourScale scale,
                  bool causal) {
  const float cell = place.width() / static_cast<float>(head.tokens), inset = std::round(cell / 4);
  if (head.dropped.empty() || cell < kLeastMarkedCell) return;
  for (int64_t row = 0; row < head.tokens; ++row)
    for (int64_t col = 0; col < (causal ? row + 1 : head.tokens); ++col) {
      const auto index = static_cast<size_t>(row * head.tokens + col);
      if (!is_dropped(head, row, col)) continue;
      const ImVec2 at{place.min.x + static_cast<float>(col) * cell,
                      place.min.y + static_cast<float>(row) * cell};
      fill_rect(page.list, {at.x + inset, at.y + inset}, {at.x + cell - inset, at.y + cell - inset},
                legible_on(page.theme, colour_of(head.probabilities[index], scale)));
    }
}

/// A large matrix of one head with its title; a tooltip has the value under the mouse.
void draw_large(const OpenedPage& page, const std::shared_ptr<const Head>& head, bool scores,
                const std::string& title, const std::string& words, const Rect& room, ImU32 outline,
                bool causal) {
  const TextStyle bold = page.type.strong;
  const bool whole = text_width(bold, title) <= room.width();
  draw_text(page.list, room.min, bold, whole ? title : title.substr(0, title.find(' ')));
  const float below = room.min.y + bold.size + page.px(2);
  const std::string brief = words.substr(0, words.find(','));
  draw_text(page.list, {room.min.x, below}, page.type.note,
            fitted(page.type.note, text_width(page.type.note, words) <= room.width() ? words : brief,
                   room.width()));
  const float top = below + page.type.note.size + page.px(8);
  const float side = std::min(room.width(), room.max.y - top);
  if (side < page.px(40)) return;
  const Rect place{{room.min.x, top}, {room.min.x + side, top + side}};
  const ColourScale scale =
      scores ? ColourScale{ColourMap::Signed, std::max(head->largest_score, 1e-9)}
             : ColourScale{ColourMap::Magnitude, std::max(2 * head->usual_probability, 1e-9)};
  page.context.heatmaps.draw(page.list, place.min, place.max, head,
                             scores ? head->scores_picture : head->probabilities_picture, scale);
  if (causal) {
    // A token sees itself and earlier ones.
    const float cell = side / static_cast<float>(head->tokens);
    fill_triangle(page.list, {place.min.x + cell, place.min.y}, {place.max.x, place.min.y},
                  {place.max.x, place.max.y - cell}, page.theme.ghost);
    const std::string masked = "later tokens: masked";
    if (text_width(page.type.note, masked) < side * 0.6f)
      draw_text(page.list, {place.max.x - page.px(10), place.min.y + page.px(10)}, page.type.note, masked,
                Align::Right);
  }
  if (!scores) draw_dropped(page, *head, place, scale, causal);
  outline_rect(page.list, place.min, place.max, outline, 0, page.thin(2));
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
    show_tooltip(page.context, fmt::format("token {} may not see token {}", row, col));
  else
    show_tooltip(
        page.context,
        fmt::format("token {} looks at token {}: {} {:.6g}{}", row, col, scores ? "score" : "probability",
                    value, !scores && is_dropped(*head, row, col) ? ", dropped: it counts as 0" : ""));
}

/// A lane for each rank with its heads; a click chooses one. Returns the height of the lanes.
float draw_lanes(const OpenedPage& page, const Program& program, const Step& step, const HeadPlaces& places,
                 bool has_run, const Rect& room) {
  const Context& context = page.context;
  auto& view = context.view.of<ProductView>();
  const int ranks = program.tp();
  const bool everywhere = is_everywhere(program, step);
  const std::shared_ptr<const Result> result = shown_result(context.snapshot);
  // A lane for each rank with its heads, in as many columns as make the pictures largest.
  const float top = room.min.y, most = std::min(room.height() * 0.4f, page.px(250));
  const float gap = page.px(10), head_bar = page.px(26), label = page.px(18), beside = page.px(6);
  const auto lanes = static_cast<float>(ranks);
  const float width = (room.width() - gap * (lanes - 1)) / lanes;
  const int64_t widest = everywhere ? places.heads : (places.heads + ranks - 1) / ranks;
  float side = 0;
  int64_t columns = 1;
  for (int64_t tried = 1; tried <= widest; ++tried) {
    const float across = (width - page.px(16)) / static_cast<float>(tried) - beside;
    const float down =
        (most - head_bar - page.px(12)) / std::ceil(static_cast<float>(widest) / static_cast<float>(tried)) -
        label - beside;
    if (std::min(across, down) <= side) continue;
    side = std::min(across, down);
    columns = tried;
  }
  const bool pictures = side >= page.px(kLeastHead);
  if (!pictures) {  // only the heads' numbers, side by side
    columns = widest;
    side = std::min((width - page.px(16)) / static_cast<float>(widest) - beside, page.px(72));
  }
  const float picture = pictures ? side : 0;
  const int64_t lines = (widest + columns - 1) / columns;
  const float lanes_height = head_bar + page.px(12) + static_cast<float>(lines) * (picture + label + beside);
  const auto mark_dropped = [&](int64_t head, int rank, const Rect& place, ColourScale scale) {
    if (step.attributes.dropout <= 0 || places.heads > kMostMarkedHeads) return;
    std::string why;
    if (const auto values = head_of(context, places, step, rank, view.sequence, head, why))
      draw_dropped(page, *values, place, scale, step.attributes.causal);
  };
  for (int rank = 0; rank < ranks; ++rank) {
    const Rect lane{{room.min.x + static_cast<float>(rank) * (width + gap), top},
                    {room.min.x + static_cast<float>(rank) * (width + gap) + width, top + lanes_height}};
    fill_rect(page.list, lane.min, lane.max, page.theme.panel, page.px(4));
    fill_rect(page.list, lane.min, {lane.min.x + page.px(4), lane.min.y + head_bar},
              page.theme.ranks[rank % 8]);
    std::vector<int64_t> own;
    for (int64_t head = 0; head < places.heads; ++head) {
      if (everywhere || rank_of_head(program, step, places, head) == rank) own.push_back(head);
    }
    const std::string title = fmt::format("rank {}", rank);
    draw_text(page.list, {lane.min.x + page.px(12), lane.min.y + page.px(5)}, page.type.strong, title);
    const std::string count = fmt::format("{} of {} heads", own.size(), places.heads);
    if (width > page.px(180))
      draw_text(page.list, {lane.max.x - page.px(8), lane.min.y + page.px(7)}, page.type.note, count,
                Align::Right);
    if (own.empty()) {
      draw_text(page.list, {(lane.min.x + lane.max.x) / 2, lane.min.y + head_bar + page.px(6)},
                page.type.note, fitted(page.type.note, "no head", width), Align::Centre);
      continue;
    }
    std::shared_ptr<const TensorSample> sample;
    if (has_run && places.p != kNoTensor && static_cast<size_t>(rank) < result->samples.size())
      sample = result->samples[static_cast<size_t>(rank)][static_cast<size_t>(places.p)];
    for (size_t i = 0; i < own.size(); ++i) {
      const auto column = static_cast<float>(static_cast<int64_t>(i) % columns),
                 line = static_cast<float>(static_cast<int64_t>(i) / columns);
      const ImVec2 at{std::round(lane.min.x + page.px(10) + column * (side + beside)),
                      std::round(lane.min.y + head_bar + page.px(6) + line * (picture + label + beside))};
      const Rect place{{at.x, at.y + label}, {at.x + side, at.y + label + picture}};
      const bool chosen = own[i] == view.head;
      ImGui::SetCursorScreenPos(at);
      if (click_area(fmt::format("head {} of rank {}", own[i], rank).c_str(), {side, picture + label}))
        view.head = own[i];
      const bool hovered = ImGui::IsItemHovered();
      if (pictures) fill_rect(page.list, place.min, place.max, page.theme.ghost);
      if (pictures && sample && !sample->picture.values.empty()) {
        const ColourScale scale = draw_small(page, sample, places, view.sequence, static_cast<int64_t>(i),
                                             static_cast<int64_t>(own.size()), place);
        mark_dropped(own[i], rank, place, scale);
      }
      if (pictures)
        outline_rect(page.list, place.min, place.max,
                     chosen || hovered ? page.theme.text : page.rank_ink(rank), 0,
                     page.thin(chosen ? 3 : 1.5f));
      draw_text(page.list, at,
                in(chosen ? page.type.strong : page.type.note, chosen ? page.theme.text : page.theme.dim),
                fitted(page.type.note,
                       side > page.px(48) ? fmt::format("head {}", own[i]) : std::to_string(own[i]), side));
    }
  }

  return lanes_height;
}

/// The chosen head: scores beside probabilities, and what is to be seen in them.
void draw_chosen(const OpenedPage& page, const Program& program, const Step& step, const HeadPlaces& places,
                 bool has_run, const Rect& room) {
  const Context& context = page.context;
  const auto& view = context.view.of<ProductView>();
  const bool everywhere = is_everywhere(program, step);
  const int rank = std::max(rank_of_head(program, step, places, view.head), 0);
  std::string why = "Attention has not run yet: there are no values.";
  const auto head = has_run ? head_of(context, places, step, rank, view.sequence, view.head, why) : nullptr;
  if (!head) {
    draw_wrapped(page.list, {room.min.x, room.min.y + room.height() / 3}, in(page.type.body, page.theme.dim),
                 why, room.width());
    return;
  }
  const float beside = page.px(32), words = room.width() > page.px(1000) ? page.px(320) : 0;
  const float half = std::min((room.width() - beside - words) / 2, room.height());
  const std::string of = everywhere && program.tp() > 1
                             ? fmt::format("of head {}, on every rank", view.head)
                             : fmt::format("of head {}, on rank {}", view.head, rank);
  const ImU32 outline = everywhere ? page.theme.dim : page.rank_ink(rank);
  draw_large(page, head, true, "scores " + of,
             "Q \u00B7 K\u1D40 / \u221Ad, computed here from the run's Q and K",
             {room.min, {room.min.x + half, room.max.y}}, outline, step.attributes.causal);
  const float x = room.min.x + half + beside;
  draw_large(page, head, false, "probabilities " + of,
             (head->dropped.empty() ? "" : "marked: dropped; ") +
                 std::string(head->computed_here
                                 ? "softmax of the scores, computed here: the run keeps only row sums"
                                 : "softmax of the scores, from the run"),
             {{x, room.min.y}, {x + half, room.max.y}}, outline, step.attributes.causal);
  const float text = x + half + page.px(24);
  if (room.max.x - text < page.px(200)) return;
  const TextStyle said{context.fonts.body, page.px(17), page.theme.text};
  float y = room.min.y + page.px(44);
  const std::string part =
      places.shown < places.tokens ? fmt::format(", the first {} of {}", places.shown, places.tokens) : "";
  // The most important one comes first: a small window has no room for all.
  const std::string sentences[] = {
      program.tp() == 1 ? std::string("One rank has every head.")
      : everywhere
          ? std::string("Every rank computes every head: attention is not cut here.")
          : fmt::format(
                "A rank with whole heads needs nothing from the others: head {} is on rank {} alone, and "
                "nothing is sent inside attention.",
                view.head, rank),
      fmt::format("A row is a token of sequence {}{}; a column is a token that it looks at.", view.sequence,
                  part),
      "Each row of the probabilities sums to 1. It needs one row of this head's Q, and all of this head's K "
      "and V.",
      fmt::format("Scores: {}. Probabilities: the brighter, the larger.", kSignedInWords)};
  for (const std::string& sentence : sentences) {
    if (y + wrapped_height(said, sentence, room.max.x - text) > room.max.y) break;
    y += draw_wrapped(page.list, {text, y}, said, sentence, room.max.x - text) + page.px(14);
  }
}

}  // namespace

void draw_heads(const OpenedPage& page, const Step& step, const Rect& room) {
  const Context& context = page.context;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  const Program& program = plan->program;
  const HeadPlaces places = places_of(program, step);
  auto& view = context.view.of<ProductView>();
  view.head = std::clamp<int64_t>(view.head, 0, places.heads - 1);
  view.sequence = std::clamp<int64_t>(view.sequence, 0, places.sequences - 1);
  const bool has_run =
      shown_result(context.snapshot) && static_cast<size_t>(step.id) < context.snapshot.position;
  const TextStyle equation{context.fonts.mono, page.px(17), page.theme.text};
  float top = room.min.y;
  draw_text(page.list, {room.min.x, top + page.px(4)}, equation, step.equation);
  std::vector<std::string> sequences;
  for (int64_t i = 0; i < std::min<int64_t>(places.sequences, 6); ++i)
    sequences.push_back(fmt::format("sequence {}", i));
  if (sequences.size() > 1) {
    const float width = choice_row_width(context, sequences);
    if (text_width(equation, step.equation) + page.px(16) > room.width() - width) top += page.px(30);
    const ImVec2 at{std::max(room.min.x, room.max.x - width), top};
    const int clicked = choice_row(context, "sequence", at, sequences, static_cast<int>(view.sequence));
    if (clicked >= 0) view.sequence = clicked;
  }
  const Rect below{{room.min.x, top + page.px(36)}, room.max};
  const float lanes = draw_lanes(page, program, step, places, has_run, below);
  draw_chosen(page, program, step, places, has_run,
              {{room.min.x, below.min.y + lanes + page.px(14)}, room.max});
}

}  // namespace shardlens::ui
