// The Inspector of a planted mistake's run. Three columns show what each rank held in the sound run, what it
// held in the broken one, and the difference; their heads are the switch for all panels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "ui/panels/break_it/break_view.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/stage/meeting.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kHeadHeight = 26;
constexpr float kRankWidth = 46;

struct Sides {
  std::array<Subject, 3> subjects;
  const Subject& of(BreakSide side) const { return subjects[static_cast<size_t>(side)]; }
};

/// The tensor as each side has it, with one scale for all.
Sides sides_of(const Context& context, const Subject& subject, const SeenBreak& seen) {
  Sides sides;
  double limit = 0;
  RankSamples compared;
  for (const BreakSide side : kBreakSides) {
    Subject& one = sides.subjects[static_cast<size_t>(side)];
    one.result = result_of(seen.probe().pass, side);
    one.plan = one.result->plan;
    one.tensor_id = seen.tensor_of(side, subject.tensor_id);
    if (one.tensor_id == kNoTensor) continue;
    for (int rank = 0; rank < one.tp(); ++rank)
      one.samples.push_back(seen.sample(side, subject.tensor_id, rank));
    if (side != BreakSide::Difference)
      compared.insert(compared.end(), one.samples.begin(), one.samples.end());
  }
  const ColourScale scale = context.heatmaps.scale(compared);
  for (Subject& one : sides.subjects) {
    one.scale = scale;
    // Every side shows the window that the Inspector is zoomed to, from its own pictures.
    one.zoom = subject.zoom;
    one.zoom.near = nullptr;
    one.zoom.missing.clear();
    if (&one != &sides.subjects.back()) limit = std::max(limit, one.scale.limit);
  }
  for (Subject& one : sides.subjects) one.scale.limit = limit;
  return sides;
}

/// The tensor's error in the broken run, at the right of its own line.
void draw_tensor_error(const Context& context, const Subject& subject, const SeenBreak& seen, Pen& pen) {
  const TensorError* const error = seen.error(subject.tensor_id);
  if (error == nullptr) return;
  const Theme& theme = context.theme;
  const TextStyle label = small_text(context, theme.dim);
  const TextStyle figure{context.fonts.mono, std::round(context.px(error->broken ? 22.0f : 15.0f)),
                         error->broken ? theme.text : theme.agreement};
  const std::string number = relative_error_text(error->relative_error);
  const char* words =
      error->relative_to_terms ? "error of the broken run, of its terms" : "relative error of the broken run";
  draw_text(pen.list, {pen.x, pen.y + figure.size - label.size - context.px(2)}, label,
            fitted(label, words, pen.width - text_width(figure, number) - context.px(12)));
  draw_text(pen.list, {pen.x + pen.width, pen.y}, figure, number, Align::Right);
  pen.y += figure.size + context.px(10);
}

size_t hashes_of(const RankSamples& samples) {
  std::set<uint64_t> hashes;
  for (const auto& sample : samples)
    if (sample) hashes.insert(sample->hash);
  return hashes.size();
}

/// Every rank's hash, on a card with a torn edge.
void draw_hash_card(const Context& context, const Subject& held, Pen& pen) {
  const Theme& theme = context.theme;
  const float pad = context.px(16);
  const TextStyle head = bold_text(context, theme.text), mono = mono_text(context, theme.text);
  const std::string title = fmt::format("Ranks hold different bits: {} hashes", hashes_of(held.samples));
  const float cell = text_width(mono, "00  0123456789abcdef") + context.px(12);
  const int columns = std::max(1, static_cast<int>((pen.width - pad) / cell));
  const int count = static_cast<int>(held.samples.size()), lines = (count + columns - 1) / columns;
  const float line = mono.size + context.px(5);
  const float top = pen.y + context.px(10);
  const float title_height = wrapped_height(head, title, pen.width - 2 * pad) + context.px(4);
  const float height = context.px(10) + title_height + line * static_cast<float>(lines) + context.px(8);
  const ImVec2 min{pen.x, pen.y}, max{pen.x + pen.width, pen.y + height};
  fill_rect(pen.list, min, max, theme.card, context.px(6));
  draw_torn_line(pen.list, {min.x + context.px(4), min.y + context.px(3)},
                 {min.x + context.px(4), max.y - context.px(3)}, theme.text, context.px(1.8f), context.px(4));
  draw_wrapped(pen.list, {pen.x + pad, top}, head, title, pen.width - 2 * pad);
  pen.facts.rows.clear();
  for (int rank = 0; rank < count; ++rank) {
    const auto& sample = held.samples[static_cast<size_t>(rank)];
    const std::string hash = sample ? fmt::format("{:016x}", sample->hash) : "–";
    const float x = pen.x + pad + cell * static_cast<float>(rank % columns);
    const float y = top + title_height + line * static_cast<float>(rank / columns);
    TextStyle name = mono;
    name.font = context.fonts.bold;
    name.colour = theme.rank_outlines[rank % 8];
    draw_text(pen.list, {x, y}, name, std::to_string(rank));
    draw_text(pen.list, {x + text_width(mono, "00 "), y}, mono, hash);
    pen.facts.rows.push_back({fmt::format("rank {}", rank), hash});
  }
  copyable_table("hashes", min, max, [&] { return pen.facts; });
  pen.y += height + context.px(12);
}

/// Says what a step that leaves a collective out does not do.
void draw_left_out_card(const Context& context, const SeenBreak& seen, const Step& sound, Pen& pen) {
  draw_card(context, pen, "Left out: " + stage::collective_title(seen.sound(), sound),
            context.theme.communication,
            {explain(seen.sound(), sound.id), "Without it every rank goes on with what it has."},
            context.theme.communication, true);
}

/// The column heads. A click chooses what all panels show.
void draw_heads(const Context& context, const SeenBreak& seen, float left, float width, float gap, Pen& pen) {
  const Theme& theme = context.theme;
  const float height = std::round(context.px(kHeadHeight));
  const TextStyle style = small_bold_text(context, theme.text);
  for (const BreakSide side : kBreakSides) {
    const float x = std::round(left + static_cast<float>(side) * (width + gap));
    const ImVec2 min{x, pen.y}, max{std::round(x + width), pen.y + height};
    ImGui::SetCursorScreenPos(min);
    if (click_area(fmt::format("side {}", side_word(side)).c_str(), {max.x - min.x, height}))
      context.view.of<BreakView>().side = side;
    const bool chosen = side == seen.side(), hovered = ImGui::IsItemHovered();
    tooltip(context, "Stage, Inspector and Timeline show this");
    const ImU32 ground = chosen ? theme.forward : hovered ? theme.line : theme.card;
    fill_rect(pen.list, min, max, ground, context.px(4));
    TextStyle own = style;
    own.colour = legible_on(theme, ground);
    draw_text(pen.list, {(min.x + max.x) / 2, min.y + (height - style.size) / 2}, own,
              fitted(own, side_word(side), width - context.px(4)), Align::Centre);
  }
  pen.y += height + context.px(6);
}

/// What a side's figure under its picture is: its rms, or how large the difference is beside the sound
/// values.
std::string figure_of(const SeenBreak& seen, BreakSide side, TensorId shown, int rank, bool brief) {
  const auto sample = seen.sample(side, shown, rank);
  if (!sample || sample->stats.count == 0) return {};
  if (side != BreakSide::Difference) return (brief ? "" : "rms ") + format_value(sample->stats.rms);
  const auto sound = seen.sample(BreakSide::Sound, shown, rank);
  const double size = sound ? sound->stats.rms : 0;
  if (size > 0) return relative_error_text(sample->stats.rms / size);
  return sample->stats.rms == 0 ? "0" : format_value(sample->stats.rms);
}

void draw_side(const Context& context, const Sides& sides, const SeenBreak& seen, const Subject& subject,
               BreakSide side, int rank, ImVec2 min, ImVec2 max, Pen& pen) {
  const Theme& theme = context.theme;
  const Subject& one = sides.of(side);
  const bool is_there = one.tensor_id != kNoTensor && one.samples[static_cast<size_t>(rank)] != nullptr;
  if (!is_there) {
    fill_rect(pen.list, min, max, theme.ghost);
    const TextStyle style = small_text(context, theme.dim);
    // Nothing is right or wrong about one term, so it has no difference. The sum after it has one.
    const bool is_term = side == BreakSide::Difference && one.tensor_id != kNoTensor &&
                         one.program().tensor(one.tensor_id).layout.kind == LayoutKind::Partial;
    const char* words = is_term ? "only a term" : side == BreakSide::Sound ? "not there" : "no value";
    draw_text(pen.list, {(min.x + max.x) / 2, (min.y + max.y - style.size) / 2}, style,
              fitted(style, words, max.x - min.x), Align::Centre);
  } else {
    draw_piece(context, one, rank, min, max, pen);
    handle_pane(context, one, rank, min, max,
                fmt::format("{} picture of rank {}", side_word(side), rank).c_str());
  }
  const TensorError* const error = seen.error(subject.tensor_id);
  if (side == BreakSide::Broken && error != nullptr && error->broken)
    draw_torn_line(pen.list, {min.x, min.y}, {min.x, max.y}, theme.text, context.px(2), context.px(3.5f));
  const bool ratio = side == BreakSide::Difference;
  TextStyle style = ratio ? TextStyle{context.fonts.mono, context.px(kBodySize), theme.text}
                          : mono_text(context, theme.dim);
  std::string figure = figure_of(seen, side, subject.tensor_id, rank, false);
  if (text_width(style, figure) > max.x - min.x)
    figure = figure_of(seen, side, subject.tensor_id, rank, true);
  draw_text(pen.list, {max.x, max.y + context.px(3)}, style, fitted(style, figure, max.x - min.x),
            Align::Right);
}

void draw_columns(const Context& context, const Sides& sides, const Subject& subject, const SeenBreak& seen,
                  Pen& pen) {
  const Theme& theme = context.theme;
  const float gap = context.px(6), names = std::round(context.px(kRankWidth));
  const float left = pen.x + names, width = std::floor((pen.width - names - 2 * gap) / 3);
  draw_heads(context, seen, left, width, gap, pen);
  const float height = picture_height(context, subject, width);
  const float caption = context.px(kBodySize + 8);
  // The chosen column stands on a lighter ground, down to the last rank.
  const float chosen = left + static_cast<float>(seen.side()) * (width + gap);
  const float all = static_cast<float>(subject.tp()) * (height + caption);
  fill_rect(pen.list, {chosen - context.px(3), pen.y - context.px(3)},
            {chosen + width + context.px(3), pen.y + all}, mixed(theme.panel, theme.forward, 0.13f));
  for (int rank = 0; rank < subject.tp(); ++rank) {
    const ImU32 colour = theme.rank_outlines[rank % 8];
    fill_rect(pen.list, {pen.x, pen.y}, {pen.x + context.px(4), pen.y + height}, theme.ranks[rank % 8]);
    draw_text(pen.list, {pen.x + context.px(8), pen.y}, small_text(context, theme.dim), "rank");
    draw_text(pen.list, {pen.x + context.px(8), pen.y + context.px(kSmallSize + 2)},
              {context.fonts.bold, context.px(kBodySize), colour}, std::to_string(rank));
    for (const BreakSide side : kBreakSides) {
      const float x = std::round(left + static_cast<float>(side) * (width + gap));
      draw_side(context, sides, seen, subject, side, rank, {x, std::round(pen.y)},
                {x + width, std::round(pen.y) + height}, pen);
    }
    pen.y += height + caption;
  }
  pen.y += context.px(8);
}

}  // namespace

void draw_broken_run(const Context& context, const Subject& subject, const SeenBreak& seen, Pen& pen) {
  const Sides sides = sides_of(context, subject, seen);
  if (const Step* const sound = seen.left_out(subject.step)) draw_left_out_card(context, seen, *sound, pen);
  draw_tensor_error(context, subject, seen, pen);
  const Subject& held = sides.of(seen.side() == BreakSide::Sound ? BreakSide::Sound : BreakSide::Broken);
  const bool is_copy = subject.tp() > 1 && held.tensor().layout.kind == LayoutKind::Replicated;
  if (is_copy && hashes_of(held.samples) > 1)
    draw_hash_card(context, held, pen);
  else
    draw_layout_card(context, held, pen);
  draw_columns(context, sides, subject, seen, pen);
  draw_colour_bar(context, sides.of(BreakSide::Broken), pen);
}

}  // namespace shardlens::ui
