// The Break it tab: a switch for each classic mistake. When one is on, a sound and a broken run of the same
// model start from the same seed, and the tab shows how they differ. The studio's own run stays as it is.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/config/units.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "ui/commands/commands.h"
#include "ui/outbox.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/setup/delays.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kListWidth = 320;
constexpr float kListBeside = 860;    ///< from this width on, switches and results are side by side
constexpr float kLow = 560;           ///< a lower centre shows switches, errors and curves one at a time
constexpr float kLeastPicture = 132;  ///< a lower picture is unreadable, so the page scrolls instead
constexpr float kGap = 12;

/// Asks the engine which faults are possible with the wanted settings. Asks once for each change of them.
void look(const Context& context) {
  std::optional<Settings>& asked = context.view.of<BreakView>().asked;
  if (asked == context.wanted()) return;
  asked = context.wanted();
  context.send(break_command::Look{context.wanted()});
}

void draw_switch(const Context& context, ImVec2 at, bool on, bool possible, bool hovered) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 size{context.px(32), context.px(18)};
  const float radius = size.y / 2;
  const ImU32 ground = on ? theme.forward : hovered && possible ? theme.faint : theme.line;
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, ground, radius);
  const ImVec2 knob{on ? at.x + size.x - radius : at.x + radius, at.y + radius};
  list->AddCircleFilled(knob, radius - context.px(3), possible || on ? theme.window : theme.card);
}

/// A small button with a name of its own; returns true when clicked.
bool small_button(const Context& context, const std::string& text, const std::string& id, ImVec2 at) {
  const Type type(context);
  ImGui::SetCursorScreenPos(at);
  ImGui::PushFont(nullptr, kSmallSize);
  const float width = text_width(type.note, text) + context.px(20);
  const bool clicked = ImGui::Button((text + "###" + id).c_str(), {width, small_button_height(context)});
  ImGui::PopFont();
  return clicked;
}

/// One fault; returns the height of its row.
float draw_choice(const Context& context, const BreakChoice& choice, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const FaultFacts& facts = facts_of(choice.fault);
  const bool on = context.breaks.planted == choice.fault;
  const bool may = choice.possible || on;
  const float indent = context.px(44), text_room = width - indent;
  const float sentence = wrapped_height(type.note, facts.sentence, text_room);
  const float head = type.strong.size + context.px(4);
  ImGui::SetCursorScreenPos(at);
  ImGui::BeginDisabled(!may);
  const bool clicked = click_area(facts.name, {width, head + sentence});
  ImGui::EndDisabled();
  const bool hovered = ImGui::IsItemHovered();
  draw_switch(context, {at.x, at.y + context.px(1)}, on, choice.possible, hovered);
  draw_text(list, {at.x + indent, at.y}, in(type.strong, may ? context.theme.text : context.theme.dim),
            fitted(type.strong, facts.title, text_room));
  draw_wrapped(list, {at.x + indent, at.y + head}, type.note, facts.sentence, text_room);
  if (clicked && on) {
    context.send(break_command::Clear{});
  } else if (clicked) {
    context.view.of<BreakView>().probe = 0;
    context.view.of<BreakView>().page = BreakPage::Errors;
    context.send(break_command::Start{context.wanted(), choice.fault});
  }
  float height = head + sentence;
  if (!choice.possible) {
    height += context.px(4);
    const ImVec2 below{at.x + indent, at.y + height};
    if (choice.remedy) {
      const std::string label =
          fitted(type.note, "needs " + choice.remedy->words, text_room - context.px(20));
      if (small_button(context, label, fmt::format("remedy {}", facts.name), below))
        context.want(choice.remedy->settings);
      tooltip(context,
              fmt::format(
                  "Not possible with these settings: the fault needs {}.\nA click changes the settings: {}.",
                  facts.needs, choice.remedy->words));
      height += small_button_height(context);
    } else {
      height += draw_wrapped(list, below, type.note,
                             fmt::format("Not possible here: it needs {}.", facts.needs), text_room);
    }
  }
  return height + context.px(14);
}

/// Offers a toy: a whole model that trains in seconds, which shows a fault best. Returns the height it took.
float draw_toy(const Context& context, const BreakSettings& toy, ImVec2 at, float width) {
  const Type type(context);
  const bool layer = context.breaks.looked_at->block != Block::Model;
  const std::string words =
      layer ? "One layer runs once and shows where the error starts. A model in training shows what it does "
              "to the loss:"
            : "Two runs of fifty steps take a while with this model. A toy takes seconds:";
  const float height = draw_wrapped(ImGui::GetWindowDrawList(), at, type.note, words, width) + context.px(6);
  if (small_button(context, toy.words, "toy", {at.x, at.y + height})) context.want(toy.settings);
  return height + small_button_height(context) + context.px(16);
}

/// Offers to lose a rank, which no planted mistake does. Returns the height it took.
float draw_lost_rank(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float indent = context.px(44), room = width - indent;
  float y = at.y;
  draw_text(list, {at.x + context.px(6), y}, type.strong, ICON_FA_UNLINK);
  draw_text(list, {at.x + indent, y}, type.strong, "A rank is lost");
  y += type.strong.size + context.px(4);
  const DelayChoice choice = delay_choice(context, context.snapshot.plan->program);
  const std::string words = fmt::format(
      "Rank {} hangs in the run on the Stage, like a rank that crashed. The others wait for it in their next "
      "collective, give up after {} s and report it. Run again brings it back.",
      choice.rank, kLostAfterSeconds);
  y += draw_wrapped(list, {at.x + indent, y}, type.note, words, room) + context.px(4);
  if (small_button(context, fmt::format("Lose rank {}", choice.rank), "lose", {at.x + indent, y})) {
    lose_rank(context);
    show_tab(context, Tab::Stage);
  }
  return y - at.y + small_button_height(context) + context.px(14);
}

void draw_list(const Context& context) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - context.px(4);
  float y = at.y;
  const Type type(context);
  const BreakSnapshot& breaks = context.breaks;
  if (breaks.choices.empty()) {
    draw_text(ImGui::GetWindowDrawList(), at, type.body, "Looking for mistakes that are possible here …");
    return;
  }
  if (breaks.toy) y += draw_toy(context, *breaks.toy, {at.x, y}, width);
  for (const BreakChoice& choice : breaks.choices) y += draw_choice(context, choice, {at.x, y}, width);
  if (can_lose_rank(context)) y += draw_lost_rank(context, {at.x, y}, width);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, y - at.y});
}

std::string settings_words(const Settings& settings) {
  const std::string what = settings.block == Block::Model
                               ? fmt::format("{}, {} layers", settings.model.title, settings.model.layers)
                               : fmt::format("{}, one {}", settings.model.title, to_string(settings.block));
  return fmt::format("{} · T = {} · split {}{} · {} · batch {} × {}", what, settings.tp, settings.split.name,
                     settings.dropout > 0 ? fmt::format(" · dropout {}", settings.dropout) : "",
                     to_string(settings.dtype), settings.batch, settings.seq);
}

/// Names the report's settings. If the run has ended and the wanted settings differ, also says how to run
/// those.
std::string run_words(const BreakSnapshot& breaks, const Settings& wanted) {
  const BreakReport& report = *breaks.report;
  const std::string of = settings_words(report.plan->program.settings), now = settings_words(wanted);
  std::string words = of;
  if (!report.text.empty()) words += " · " + report.text;
  if (!breaks.is_active() && of != now)
    words += fmt::format(". The settings are now: {}. Run again uses them.", now);
  return words;
}

std::string state_words(const BreakSnapshot& breaks) {
  const auto steps = [&] {
    if (!breaks.report || breaks.report->wanted_steps == 0) return std::string("one pass");
    return fmt::format("step {} of {}", breaks.report->steps.size(), breaks.report->wanted_steps);
  };
  switch (breaks.state) {
    case BreakState::Idle:
      return {};
    case BreakState::Preparing:
      return "Planning a sound and a broken Program …";
    case BreakState::Running:
      return "Both run: " + steps();
    case BreakState::Done:
      return "Done: " + steps();
    case BreakState::Stopped:
      return "Stopped at " + steps();
    case BreakState::Refused:
      return "Not possible: " + breaks.message;
    case BreakState::Failed:
      return "Failed: " + breaks.message;
  }
  return {};
}

/// Draws which fault is planted, the state of the runs, and the buttons. Returns the height it took.
float draw_head(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const BreakSnapshot& breaks = context.breaks;
  const FaultFacts& facts = facts_of(*breaks.planted);
  float right = at.x + width;
  const auto button = [&](const char* text, const char* help) {
    right -= button_width(context, text);
    ImGui::SetCursorScreenPos({right, at.y});
    const bool pressed = draw_button(context, text, text, ButtonLook::Plain, true, help);
    right -= context.px(8);
    return pressed;
  };
  if (button("Switch off", "Removes the fault")) context.send(break_command::Clear{});
  if (breaks.is_active()) {
    if (button("Stop", "Stops both runs. Their results so far are kept")) context.send(break_command::Stop{});
  } else if (button("Run again", "Starts both runs with the present settings")) {
    context.view.of<BreakView>().probe = 0;
    context.send(break_command::Start{context.wanted(), *breaks.planted});
  }
  draw_text(list, {at.x, at.y + (context.px(kControlHeight) - type.figure.size) / 2}, type.figure,
            fitted(type.figure, facts.title, right - at.x));
  float y = at.y + context.px(kControlHeight) + context.px(6);
  y += draw_wrapped(list, {at.x, y}, type.body, facts.sentence, width) + context.px(4);
  std::string words = state_words(breaks);
  if (breaks.report) words += " · " + run_words(breaks, context.wanted());
  const bool wrong = breaks.state == BreakState::Refused || breaks.state == BreakState::Failed;
  y += draw_wrapped(list, {at.x, y}, wrong ? type.strong : type.note, words, width);
  return y - at.y + context.px(10);
}

/// The probe that is shown: the one chosen, else the first that finds something, else the newest.
const BreakProbe& shown_probe(const Context& context, const BreakReport& report) {
  for (const auto& probe : report.probes) {
    if (probe->step == context.view.of<BreakView>().probe) return *probe;
  }
  for (const auto& probe : report.probes) {
    if (probe->finds() && context.view.of<BreakView>().probe == 0) return *probe;
  }
  return *report.probes.back();
}

/// The strip's title, what its marks mean, and the steps that can be looked into; returns the height.
float draw_strip_head(const Context& context, const BreakReport& report, const BreakProbe& shown, ImVec2 at,
                      float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<std::string> labels;
  int taken = 0;
  for (const auto& probe : report.probes) {
    if (probe.get() == &shown) taken = static_cast<int>(labels.size());
    labels.push_back(labels.empty() ? fmt::format("step {}", probe->step) : std::to_string(probe->step));
  }
  float room = width;
  if (shown.step > 0) {
    room -= choice_row_width(context, labels) + context.px(kGap);
    const int clicked = choice_row(context, "probe", {at.x + room + context.px(kGap), at.y}, labels, taken);
    if (clicked >= 0) context.view.of<BreakView>().probe = report.probes[static_cast<size_t>(clicked)]->step;
  }
  const char* title = "Error of every tensor";
  const float middle = at.y + choice_row_height(context) / 2;
  draw_text(list, {at.x, middle - type.strong.size / 2}, type.strong, title);
  const float indent = text_width(type.strong, title) + context.px(14);
  const std::string bound = fmt::format("dashed: the bound {}", format_error(report.bound));
  const std::string caps = bound + " · cap: its ranks differ",
                    all = caps + " · no bar: right to the last bit";
  for (const std::string& marks : {all, caps, bound}) {
    if (text_width(type.note, marks) > room - indent) continue;
    draw_text(list, {at.x + indent, middle - type.note.size / 2}, type.note, marks);
    break;
  }
  return choice_row_height(context) + context.px(6);
}

/// Every tensor of the probe, in the order of the steps.
TextTable errors_table(const BreakReport& report, const BreakProbe& probe) {
  const Program& program = report.plan->program;
  TextTable table{{{"step", Align::Right},
                   {"made by"},
                   {"tensor"},
                   {"relative error", Align::Right},
                   {"bound", Align::Right},
                   {"ranks"},
                   {"verdict"}},
                  {}};
  for (const TensorError& error : probe.errors)
    table.rows.push_back({error.step >= 0 ? std::to_string(error.step) : "",
                          error.step >= 0 ? program.step(error.step).name : "weight",
                          program.tensor(error.tensor).name, relative_error_text(error.relative_error),
                          format_error(report.bound), error.ranks_identical ? "" : "differ",
                          error.broken ? "broken" : "right"});
  return table;
}

/// Where the error starts and how it spreads, in `size` pixels.
float draw_errors(const Context& context, const BreakReport& report, ImVec2 at, ImVec2 size) {
  const BreakProbe& probe = shown_probe(context, report);
  const float head = draw_strip_head(context, report, probe, at, size.x);
  draw_break_strip(context, report, probe, {at.x, at.y + head}, {size.x, size.y - head});
  copyable_table("break errors", at, {at.x + size.x, at.y + size.y},
                 [&] { return errors_table(report, probe); });
  return size.y;
}

float draw_words(const Context& context, const std::string& words, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, at, type.strong, "How to see it");
  const float head = type.strong.size + context.px(6);
  return head + draw_wrapped(list, {at.x, at.y + head}, type.body, words, width);
}

float words_height(const Context& context, const std::string& words, float width) {
  const Type type(context);
  return type.strong.size + context.px(6) + wrapped_height(type.body, words, width);
}

/// Draws errors, curves and findings below each other. A low window shows only one part of them.
void draw_results(const Context& context, ImVec2 at, ImVec2 size, bool low) {
  const BreakSnapshot& breaks = context.breaks;
  float y = at.y + draw_head(context, at, size.x);
  if (!breaks.report || breaks.report->probes.empty()) return;
  const BreakReport& report = *breaks.report;
  const bool trains = report.wanted_steps > 0,
             loss_page = context.view.of<BreakView>().page == BreakPage::Loss;
  const bool errors_shown = !low || !loss_page, loss_shown = !low || loss_page;
  const std::string words = how_to_see(report);
  const float gap = context.px(kGap);
  float room = at.y + size.y - y;
  if (errors_shown) room -= words_height(context, words, size.x) + gap;
  if (loss_shown) room -= break_checks_height(context) + gap;
  const int pictures = (errors_shown ? 1 : 0) + (loss_shown && trains ? 1 : 0);
  room = std::max(room, static_cast<float>(pictures) * context.px(kLeastPicture));
  if (errors_shown) {
    const float strip = std::floor(loss_shown && trains ? room * 0.56f : room);
    y += draw_errors(context, report, {at.x, y}, {size.x, strip}) + gap;
    room -= strip + gap;
  }
  if (loss_shown && trains) {
    draw_break_curves(context, report, {at.x, y}, {size.x, room});
    y += room + gap;
  }
  if (errors_shown) y += draw_words(context, words, {at.x, y}, size.x);
  if (errors_shown && loss_shown) y += gap;
  if (loss_shown) y += draw_break_checks(context, report, {at.x, y}, size.x);
  // One pass has no loss curve, so the loss page offers the toy, which has one.
  if (low && loss_shown && !trains && breaks.toy)
    y += gap + draw_toy(context, *breaks.toy, {at.x, y + gap}, size.x);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({size.x, std::floor(y - at.y)});
}

/// The parts that this window shows one at a time. Empty: it shows everything at once.
std::vector<BreakPage> pages_of(bool beside, bool low) {
  std::vector<BreakPage> pages;
  if (beside) return pages;
  pages = {BreakPage::Faults, BreakPage::Errors};
  if (low) pages.push_back(BreakPage::Loss);
  return pages;
}

std::string page_name(BreakPage page, bool low) {
  if (page == BreakPage::Faults) return "faults";
  if (page == BreakPage::Loss) return "what the loss shows";
  return low ? "where it starts" : "what it does";
}

/// The row that chooses a page; returns its height. If this window does not have the chosen page, Errors
/// replaces it.
float draw_pages(const Context& context, bool beside, bool low, ImVec2 at) {
  BreakPage& page = context.view.of<BreakView>().page;
  const std::vector<BreakPage> pages = pages_of(beside, low);
  if (pages.empty()) return 0;
  if (std::find(pages.begin(), pages.end(), page) == pages.end()) page = BreakPage::Errors;
  std::vector<std::string> names;
  int taken = 0;
  for (const BreakPage one : pages) {
    if (one == page) taken = static_cast<int>(names.size());
    names.push_back(page_name(one, low));
  }
  const int clicked = choice_row(context, "page", at, names, taken);
  if (clicked >= 0) page = pages[static_cast<size_t>(clicked)];
  return choice_row_height(context) + context.px(kGap);
}

}  // namespace

void draw_break_it(const Context& context) {
  look(context);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool low = room.y < context.px(kLow), beside = room.x >= context.px(kListBeside) && !low;
  const bool planted = context.breaks.planted.has_value();
  float y = at.y;
  if (planted) {
    y += draw_pages(context, beside, low, at);
  } else {
    const Type type(context);
    y += draw_wrapped(ImGui::GetWindowDrawList(), at, type.body,
                      "Plant a classic mistake in a copy of this model. The copy runs sound and broken, from "
                      "the same seed and on the same text. The run on the Stage stays as it is.",
                      room.x) +
         context.px(kGap);
  }
  const float height = std::max(context.px(80), at.y + room.y - y);
  const bool list_shown = beside || !planted || context.view.of<BreakView>().page == BreakPage::Faults;
  const float list_width = beside && planted ? context.px(kListWidth) : room.x;
  if (list_shown) {
    ImGui::SetCursorScreenPos({at.x, y});
    ImGui::BeginChild("faults", {list_width, height});
    draw_list(context);
    ImGui::EndChild();
  }
  if (!planted || (list_shown && !beside)) return;
  const float left = beside ? list_width + context.px(2 * kGap) : 0;
  ImGui::SetCursorScreenPos({at.x + left, y});
  ImGui::BeginChild("results", {room.x - left, height});
  draw_results(context, ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail(), low);
  ImGui::EndChild();
}

}  // namespace shardlens::ui
