// The mistakes as cards. On each is a small map of the layer, its steps forward over those backward, and a
// lens on the place where the mistake sits. After a run the map is lit where the mistake has made values
// wrong.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/runtime/snapshot.h"
#include "ui/commands/commands.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/parts.h"
#include "ui/panels/setup/delays.h"
#include "ui/plan/cache.h"
#include "ui/stage/meeting.h"
#include "ui/theme/phase_colour.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kPad = 10;
constexpr float kLens = 13;

/// How large a card's parts are: with the mistake in full while none is planted, else as short as possible.
struct CardForm {
  bool in_full = false;
  float card = 300;  ///< least width
  float map_width = 116, map_height = 44;

  TextStyle sentence(const Context& context, const Type& type) const {
    return in_full ? in(type.body, context.theme.text) : type.note;
  }
};
constexpr CardForm kShort{}, kFull{true, 300, 132, 60};

/// The names of the steps whose values are wrong in the planted mistake's run.
const std::set<std::string>& wrong_steps(const std::shared_ptr<const BreakReport>& report,
                                         const std::shared_ptr<const BreakProbe>& probe) {
  static Cache<std::shared_ptr<const BreakProbe>, std::set<std::string>, 2> known;
  return known.of(probe, [&] {
    std::set<std::string> names;
    for (const TensorError& error : probe->errors)
      if (error.broken && error.step >= 0) names.insert(report->plan->program.step(error.step).name);
    return names;
  });
}

/// Where a step stands on the map: forward above, the others below.
ImVec2 place_on_map(const Program& program, StepId step, ImVec2 min, ImVec2 size) {
  const auto is_below = [&](const Step& one) { return one.phase != Phase::Forward; };
  const auto below = static_cast<int>(std::count_if(program.steps.begin(), program.steps.end(), is_below));
  const int above = static_cast<int>(program.steps.size()) - below;
  const bool low = is_below(program.step(step));
  int index = 0;
  for (StepId id = 0; id < step; ++id) index += is_below(program.step(id)) == low;
  const float share =
      (static_cast<float>(index) + 0.5f) / static_cast<float>(std::max(1, low ? below : above));
  return {min.x + share * size.x, min.y + size.y * (low ? 0.74f : 0.26f)};
}

void draw_map(const Context& context, const Program& program, const std::set<std::string>* wrong, ImVec2 min,
              ImVec2 size, float strength) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const Step& step : program.steps) {
    const ImVec2 at = place_on_map(program, step.id, min, size);
    const bool meets = is_collective(step.op);
    const OpKind kind = operation(step.op).kind;
    const bool works = kind == OpKind::Product || kind == OpKind::Attention;
    const float tall = context.px(meets ? 13.0f : works ? 9.0f : 3.0f);
    const float wide = std::max(1.0f, std::round(context.px(meets || works ? 3.0f : 2.0f)));
    const bool lit = wrong == nullptr || wrong->contains(step.name);
    const ImU32 colour = meets ? theme.communication : phase_colour(theme, step.phase);
    fill_rect(list, {at.x - wide / 2, at.y - tall / 2}, {at.x + wide / 2, at.y + tall / 2},
              faded(colour, strength * (lit ? 1.0f : 0.28f)), works ? 1.0f : 0.0f);
  }
}

/// What stands in the lens: two or three signs, or a curve.
const char* sign_of(Fault fault) {
  switch (fault) {
    case Fault::BiasBeforeReduction:
      return "+b";
    case Fault::SkipF:
      return "f";
    case Fault::SkipG:
      return "g";
    case Fault::GeluOnPartial:
      return "";
    case Fault::QkvAcrossHeads:
      return "QKV";
    case Fault::ReduceCopy:
      return ICON_FA_COPY;
    case Fault::LocalStatistics:
      return "µ";
    case Fault::OneDropoutStream:
    case Fault::OwnDropoutStreams:
      return ICON_FA_RANDOM;
    case Fault::PaddedSoftmax:
      return "pad";
    case Fault::TiedGradientLost:
      return "dW";
    case Fault::ClipInflated:
      return "×T";
  }
  return "";
}

void draw_lens(const Context& context, Fault fault, ImVec2 at, ImU32 ink) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float radius = context.px(kLens);
  list->AddCircleFilled(at, radius, theme.window);
  list->AddCircle(at, radius, ink, 0, std::max(1.5f, context.px(1.8f)));
  if (fault == Fault::GeluOnPartial) {  // flat, then rising
    const float s = radius * 0.62f;
    list->AddBezierCubic({at.x - s, at.y + s * 0.45f}, {at.x + s * 0.1f, at.y + s * 0.75f},
                         {at.x + s * 0.25f, at.y + s * 0.1f}, {at.x + s * 0.85f, at.y - s * 0.75f}, ink,
                         std::max(1.5f, context.px(1.6f)));
    return;
  }
  const std::string sign = sign_of(fault);
  const bool letter = fault == Fault::SkipF || fault == Fault::SkipG;
  const bool icon = sign.starts_with('\xef');  // of the icons' range in UTF-8
  ImFont* const font = letter ? context.fonts.italic : icon ? context.fonts.body : context.fonts.bold;
  const float size = letter ? 18 : icon ? 13 : sign.size() > 2 ? 11 : 14;
  const TextStyle style{font, context.px(size), letter ? theme.communication : ink};
  draw_text(list, {at.x, at.y - style.size * 0.55f}, style, sign, Align::Centre);
  if (letter)
    draw_line(list, {at.x - radius * 0.6f, at.y + radius * 0.1f},
              {at.x + radius * 0.6f, at.y + radius * 0.1f}, ink, std::max(1.5f, context.px(1.6f)));
}

/// "backward, at f"; "forward, at mlp.gelu".
std::string place_words(const FaultPlace& place) {
  const Step& step = place.program->step(place.step);
  const std::string letter = stage::letter_of(step.conjugate);
  std::string name = letter.empty() ? step.name : letter;
  if (const size_t layer = name.find("h.0."); layer != std::string::npos) name.erase(layer, 4);
  return fmt::format("{}, at {}", to_string(step.phase), name);
}

/// The texts of a card.
struct CardWords {
  std::string title, place, needs, sentence;
};

CardWords words_of(const BreakChoice& choice, const CardForm& form) {
  const FaultFacts& facts = facts_of(choice.fault);
  CardWords words{.title = facts.title, .place = {}, .needs = {}, .sentence = {}};
  if (choice.place && choice.place->step >= 0) words.place = place_words(*choice.place);
  if (!choice.possible)
    words.needs = choice.remedy ? "needs " + choice.remedy->words
                                : fmt::format("not possible here: it needs {}", facts.needs);
  if (form.in_full) words.sentence = facts.sentence;
  return words;
}

float height_of(const Context& context, const CardForm& form, const CardWords& words, float width) {
  const Type type(context);
  const float room = width - context.px(3 * kPad + form.map_width);
  float text = wrapped_height(type.strong, words.title, room);
  for (const std::string& line : {words.place, words.needs})
    if (!line.empty()) text += context.px(2) + wrapped_height(type.note, line, room);
  float height = std::max(text, context.px(form.map_height)) + 2 * context.px(kPad);
  if (!words.sentence.empty())
    height += context.px(8) +
              wrapped_height(form.sentence(context, type), words.sentence, width - 2 * context.px(kPad));
  return std::ceil(height);
}

void draw_ground(const Context& context, ImVec2 min, ImVec2 max, bool on, bool hovered, bool may) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 ground = on               ? mixed(theme.window, theme.forward, 0.2f)
                       : hovered && may ? mixed(theme.card, theme.forward, 0.12f)
                                        : theme.card;
  fill_rect(list, min, max, ground, context.px(6));
  if (!on) return;
  outline_rect(list, min, max, theme.forward, context.px(6), context.px(1.5f));
  fill_rect(list, min, {min.x + context.px(4), max.y}, theme.forward);
}

void draw_mistake(const Context& context, const CardForm& form, const BreakChoice& choice,
                  const CardWords& words, ImVec2 at, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const FaultFacts& facts = facts_of(choice.fault);
  const bool on = context.breaks.planted == choice.fault;
  const std::optional<Settings> settings = plantable(context, choice.fault);
  const bool may = on || settings.has_value();
  ImGui::SetCursorScreenPos(at);
  ImGui::BeginDisabled(!may);
  const bool clicked = click_area(facts.name, size);
  ImGui::EndDisabled();
  const bool hovered = ImGui::IsItemHovered();
  std::string help = facts.sentence;
  if (on)
    help += "\nIt is planted. A click switches it off.";
  else if (!choice.possible && choice.remedy)
    help += fmt::format("\nA click plants it in a copy with {}. Setup stays as it is.", choice.remedy->words);
  tooltip(context, help);
  draw_ground(context, at, at + size, on, hovered, may);
  const float pad = context.px(kPad);
  const ImVec2 map{at.x + pad, at.y + pad}, map_size{context.px(form.map_width), context.px(form.map_height)};
  if (choice.place && choice.place->step >= 0) {
    const Program& program = *choice.place->program;
    const std::shared_ptr<const BreakReport>& report = context.breaks.report;
    const std::shared_ptr<const BreakProbe> probe =
        on && report ? chosen_probe(*report, context.view.of<BreakView>().probe) : nullptr;
    draw_map(context, program, probe ? &wrong_steps(report, probe) : nullptr, map, map_size,
             choice.possible || on ? 0.85f : 0.4f);
    const ImVec2 lens = place_on_map(program, choice.place->step, map, map_size);
    const float edge = context.px(kLens);
    draw_lens(context, choice.fault,
              {within(lens.x, map.x + edge - pad / 2, map.x + map_size.x - edge + pad / 2), lens.y},
              choice.possible || on ? theme.text : theme.dim);
  }
  const float x = map.x + map_size.x + pad, room = at.x + size.x - pad - x;
  float y = at.y + pad;
  y += draw_wrapped(list, {x, y}, in(type.strong, choice.possible || on ? theme.text : theme.dim),
                    words.title, room);
  for (const std::string& line : {words.place, words.needs})
    if (!line.empty()) y += context.px(2) + draw_wrapped(list, {x, y + context.px(2)}, type.note, line, room);
  y = std::max(y, map.y + map_size.y) + context.px(8);
  draw_wrapped(list, {at.x + pad, y}, form.sentence(context, type), words.sentence, size.x - 2 * pad);
  if (!clicked) return;
  if (on)
    take_back(context);
  else if (settings)
    plant(context, *settings, choice.fault);
}

/// A rank that hangs, which no planted mistake does: its line ends.
void draw_lost_map(const Context& context, ImVec2 min, ImVec2 size) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Program& program = context.snapshot.plan->program;
  const int ranks = std::min(program.tp(), 4),
            lost = std::min(delay_choice(context, program).rank, ranks - 1);
  for (int rank = 0; rank < ranks; ++rank) {
    const float y = min.y + size.y * (static_cast<float>(rank) + 0.5f) / static_cast<float>(ranks);
    const float end = rank == lost ? min.x + size.x * 0.5f : min.x + size.x;
    fill_rect(list, {min.x, y - context.px(1)}, {end, y + context.px(1)}, theme.rank_outlines[rank % 8]);
    if (rank != lost) continue;
    list->AddCircleFilled({end, y}, context.px(kLens * 0.75f), theme.window);
    const TextStyle style{context.fonts.body, context.px(kSmallSize), theme.text};
    draw_text(list, {end, y - style.size * 0.55f}, style, ICON_FA_UNLINK, Align::Centre);
  }
}

void draw_lost_rank(const Context& context, const CardForm& form, const CardWords& words, ImVec2 at,
                    ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImGui::SetCursorScreenPos(at);
  const bool clicked = click_area("lose", size);
  tooltip(context,
          fmt::format("Rank {} hangs in the run of the settings. The others wait for it in their next "
                      "collective, give up after {} s and report it. Run again brings it back.",
                      delay_choice(context, context.snapshot.plan->program).rank, kLostAfterSeconds));
  draw_ground(context, at, at + size, false, ImGui::IsItemHovered(), true);
  const float pad = context.px(kPad), map = context.px(form.map_width);
  draw_lost_map(context, {at.x + pad, at.y + pad}, {map, context.px(form.map_height)});
  const float x = at.x + 2 * pad + map, room = at.x + size.x - pad - x;
  float y = at.y + pad;
  y += draw_wrapped(list, {x, y}, type.strong, words.title, room);
  draw_wrapped(list, {x, y + context.px(2)}, type.note, words.place, room);
  y = std::max(y, at.y + pad + context.px(form.map_height)) + context.px(8);
  draw_wrapped(list, {at.x + pad, y}, form.sentence(context, type), words.sentence, size.x - 2 * pad);
  if (!clicked) return;
  lose_rank(context);
  show_tab(context, Tab::Stage);
}

}  // namespace

void draw_mistakes(const Context& context, ImVec2 at, float width, bool in_full) {
  const CardForm& form = in_full ? kFull : kShort;
  const float gap = context.px(8);
  const int columns = std::max(1, static_cast<int>((width + gap) / (context.px(form.card) + gap)));
  const float card =
      std::floor((width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns));
  struct Card {
    const BreakChoice* choice;  ///< null: the lost rank
    CardWords words;
  };
  std::vector<Card> cards;
  for (const BreakChoice& choice : context.breaks.choices) cards.push_back({&choice, words_of(choice, form)});
  if (can_lose_rank(context))
    cards.push_back(
        {nullptr,
         {.title = "A rank is lost",
          .place = "any step, on the Stage",
          .needs = {},
          .sentence = in_full ? "One rank hangs, like a rank that crashed. The others notice it in "
                                "their next collective and report it."
                              : ""}});
  float y = at.y;
  for (size_t first = 0; first < cards.size(); first += static_cast<size_t>(columns)) {
    const size_t end = std::min(cards.size(), first + static_cast<size_t>(columns));
    float height = 0;
    for (size_t i = first; i < end; ++i)
      height = std::max(height, height_of(context, form, cards[i].words, card));
    for (size_t i = first; i < end; ++i) {
      const ImVec2 place{at.x + static_cast<float>(i - first) * (card + gap), y};
      if (cards[i].choice != nullptr)
        draw_mistake(context, form, *cards[i].choice, cards[i].words, place, {card, height});
      else
        draw_lost_rank(context, form, cards[i].words, place, {card, height});
    }
    y += height + gap;
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, y - at.y});
}

}  // namespace shardlens::ui
