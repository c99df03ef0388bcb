// Draws the table of the whole group: what every rank holds of every chunk, how many terms that are, and
// below it what the marks mean. Two buttons change what is drawn.
#include <cmath>

#include "ui/collective/inside.h"
#include "ui/collective/parts.h"
#include "ui/panels/parts.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui::collective {
namespace {

using stage::Rect;

/// "1 of 4", "1 + 3 = 4" for a chunk that gets the last terms, "complete".
std::string count_words(const Inside& inside, const ChunkLook& look) {
  const auto count = [&](Term term) {
    return static_cast<int>(std::count(look.terms.begin(), look.terms.end(), term));
  };
  const int held = count(Term::Held), arrive = count(Term::Arrives),
            all = terms_when_complete(inside.route());
  if (look.complete) return "complete";
  if (look.completes && held > 0 && arrive > 0) return fmt::format("{} + {} = {}", held, arrive, all);
  if (look.completes) return "arrives";
  if (arrive > 0) return fmt::format("{} + {} of {}", held, arrive, all);
  return fmt::format("{} of {}", held, all);
}

/// What a mark looks like, and its words.
struct Mark {
  ChunkLook look;
  const char* words;
};

std::vector<Mark> marks_of(const Inside& inside) {
  std::vector<Mark> marks{{{{Term::Held}}, "held"}, {{{Term::Arrives}}, "arrives in this hop"}};
  marks.push_back({{{Term::Held}, false, true, false}, "is sent"});
  marks.push_back({{{Term::Absent}, false, false, true}, "complete after this hop"});
  if (inside.sums()) marks.push_back({{{Term::Held}, true, false, false}, "complete sum"});
  return marks;
}

/// Draws the marks in rows of at most `width`; returns their height.
float draw_marks(const Context& context, const Inside& inside, ImVec2 at, float width, bool draw) {
  const Type type(context);
  // One place, whatever the group: a route of one rank.
  Inside one = inside;
  one.ranks.resize(1);
  one.states = states_of(Collective::AllGather, Wiring::Ring, 1);
  const ImVec2 swatch(context.px(22), context.px(18));
  float x = at.x, y = at.y;
  for (const Mark& mark : marks_of(inside)) {
    const float own = swatch.x + context.px(12) + text_width(type.note, mark.words);
    if (x > at.x && x + own > at.x + width) {
      x = at.x;
      y += context.px(28);
    }
    if (draw) {
      const Rect place{{x + context.px(3), y + context.px(3)},
                       {x + context.px(3) + swatch.x - context.px(3), y + swatch.y}};
      Inside shown = one;
      if (mark.look.complete) shown = inside, shown.ranks.resize(1);
      draw_chunk(context, shown, mark.look, place);
      draw_text(ImGui::GetWindowDrawList(), {x + swatch.x + context.px(10), y + context.px(3)},
                in(type.note, context.theme.text), mark.words);
    }
    x += own + context.px(20);
  }
  return y + context.px(24) - at.y;
}

}  // namespace

void draw_table(const Context& context, const Inside& inside, const Rect& room) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, room.min, room.max, theme.panel, context.px(4));
  const float pad = context.px(18), left = room.min.x + pad, right = room.max.x - pad, width = right - left;
  float y = room.min.y + context.px(14);
  draw_text(list, {left, y}, type.strong,
            fmt::format("What every {} holds", inside.step().axis == Axis::Dp ? "replica" : "rank"));
  draw_text(list, {right, y + context.px(1)}, type.note,
            inside.under_way() ? fmt::format("hop {} under way", inside.hop)
            : inside.hop == 0  ? std::string("at the beginning")
                               : std::string("at the end"),
            Align::Right);
  y += type.strong.size + context.px(12);

  const int chunks = inside.route().chunks;
  const float below = draw_marks(context, inside, {left, 0}, width, false) + context.px(10);
  const float bottom = room.max.y - context.px(12) - below;
  const float name = context.px(inside.size() > 8 ? 66 : 76);
  const float column = (width - name) / static_cast<float>(chunks);
  const bool wide = column >= context.px(54);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const float x = left + name + column * (static_cast<float>(chunk) + 0.5f);
    const std::string words = chunks == 1 ? "the whole tensor"
                              : wide      ? fmt::format("chunk {}", chunk)
                                          : std::to_string(chunk);
    draw_text(list, {x, y}, type.note, words, Align::Centre);
  }
  y += type.note.size + context.px(6);
  const float pitch = std::min((bottom - y) / static_cast<float>(inside.size()), context.px(84));
  const bool counts = wide && pitch >= context.px(42);
  const float height = std::clamp(pitch - context.px(counts ? 27 : 9), context.px(4), context.px(36));
  for (int rank = 0; rank < inside.size(); ++rank) {
    const float top = y + pitch * static_cast<float>(rank);
    const int world = inside.ranks[static_cast<size_t>(rank)];
    fill_rect(list, {left, top}, {left + context.px(4), top + height}, theme.ranks[world % 8]);
    if (pitch >= type.note.size)
      draw_text(list, {left + context.px(12), top + height / 2 - type.note.size * 0.56f},
                in(type.note, theme.text), inside.rank_name(rank));
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const float x = left + name + column * static_cast<float>(chunk);
      const float gap = std::min(context.px(8), column * 0.12f);
      const Rect place{{x + gap, top}, {x + column - gap, top + height}};
      const ChunkLook look = inside.look(rank, chunk);
      draw_chunk(context, inside, look, place);
      if (!counts) continue;
      const std::string words = count_words(inside, look);
      if (text_width(type.note, words) > column) continue;
      draw_text(list, {x + column / 2, top + height + context.px(6)},
                in(type.note, look.completes || look.complete ? theme.agreement : theme.dim), words,
                Align::Centre);
    }
  }
  draw_marks(context, inside, {left, room.max.y - context.px(12) - below + context.px(10)}, width, true);
}

}  // namespace shardlens::ui::collective
