// The Break it tab: a card for each classic mistake. When one is planted, a sound and a broken run of the
// same model start from the same seed, and every panel shows them until the mistake is switched off. The
// settings and their own run stay as they are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "ui/commands/commands.h"
#include "ui/lesson/lesson_view.h"
#include "ui/outbox.h"
#include "ui/panels/break_it/break_parts.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kListWidth = 312;
constexpr float kListBeside = 860;    ///< from this width on, mistakes and results are side by side
constexpr float kLow = 480;           ///< a lower centre shows mistakes, errors and curves one at a time
constexpr float kLeastStrip = 170;    ///< a lower strip is unreadable
constexpr float kLeastStage = 190;    ///< a lower Stage shows less than two rows
constexpr float kLeastPicture = 132;  ///< a lower picture is unreadable, so the page scrolls instead
constexpr float kGap = 12;

/// Asks the engine which faults are possible with the wanted settings. Asks once for each change of them.
void look(const Context& context) {
  std::optional<Settings>& asked = context.view.of<BreakView>().asked;
  if (asked == context.wanted()) return;
  asked = context.wanted();
  context.send(break_command::Look{context.wanted()});
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

/// Offers a model whose two runs of fifty steps take seconds, if those of this one take long. Returns the
/// height it took.
float draw_toy(const Context& context, const BreakSettings& toy, ImVec2 at, float width) {
  const Type type(context);
  const char* const words = "Two runs of fifty steps take a while with this model. A toy takes seconds:";
  const float height = draw_wrapped(ImGui::GetWindowDrawList(), at, type.note, words, width) + context.px(6);
  if (small_button(context, toy.words, "toy", {at.x, at.y + height})) context.want(toy.settings);
  return height + small_button_height(context) + context.px(16);
}

/// One layer has no loss curve: offers to plant the same mistake in a toy that is trained. Returns the
/// height.
float draw_training_offer(const Context& context, const BreakReport& report, ImVec2 at, float width) {
  const Type type(context);
  const BreakSettings& toy = *context.breaks.toy;
  const float height =
      draw_wrapped(
          ImGui::GetWindowDrawList(), at, type.body,
          "One layer runs once and has no loss. A small model in training shows what the mistake does "
          "to the loss curve:",
          width) +
      context.px(8);
  const std::string label = fmt::format("Train {} with this mistake", toy.settings.model.title);
  ImGui::SetCursorScreenPos({at.x, at.y + height});
  if (draw_button(
          context, "train toy", label, ButtonLook::Accent, true,
          "Plants the same mistake in a copy of that model, and trains it for fifty steps. Setup stays "
          "as it is.")) {
    Settings settings = toy.settings;
    settings.split = report.plan->program.settings.split;
    const std::optional<BreakSettings> possible = break_settings(settings, report.fault);
    plant(context, possible ? possible->settings : settings, report.fault);
  }
  return height + context.px(kControlHeight);
}

void draw_list(const Context& context, bool in_full) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - context.px(4);
  const Type type(context);
  const BreakSnapshot& breaks = context.breaks;
  if (breaks.choices.empty()) {
    draw_text(ImGui::GetWindowDrawList(), at, type.body, "Looking for mistakes that are possible here …");
    return;
  }
  float y = at.y;
  const bool is_long = breaks.toy && breaks.looked_at->block == Block::Model;
  if (is_long) y += draw_toy(context, *breaks.toy, {at.x, y}, width);
  draw_mistakes(context, {at.x, y}, width, in_full);
}

std::string settings_words(const Settings& settings) {
  const std::string what =
      settings.block == Block::Model
          ? fmt::format("{}, {}", settings.model.title, counted(settings.model.layers, "layer"))
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
    words += fmt::format(
        ". The settings are now: {}. Run again uses them, changed where the mistake needs it.", now);
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
  if (button("Switch off", "Takes the mistake back: every panel shows the run of the settings again (Esc)"))
    take_back(context);
  if (breaks.is_active()) {
    if (button("Stop", "Stops both runs. Their results so far are kept")) context.send(break_command::Stop{});
  } else if (button("Run again",
                    "Starts both runs again, with the present settings if they make the mistake "
                    "possible")) {
    plant(context, plantable(context, *breaks.planted).value_or(context.wanted()), *breaks.planted);
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

/// The strip's title, what its marks mean, and the steps that can be looked into; returns the height. `size`:
/// of the head and the strip together.
float draw_strip_head(const Context& context, const BreakReport& report, const BreakProbe& shown, ImVec2 at,
                      ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<std::string> labels;
  int taken = 0;
  for (const auto& probe : report.probes) {
    if (probe.get() == &shown) taken = static_cast<int>(labels.size());
    labels.push_back(labels.empty() ? fmt::format("step {}", probe->step) : std::to_string(probe->step));
  }
  float room = size.x;
  if (shown.step > 0) {
    room -= choice_row_width(context, labels) + context.px(kGap);
    const int clicked = choice_row(context, "probe", {at.x + room + context.px(kGap), at.y}, labels, taken);
    if (clicked >= 0) context.view.of<BreakView>().probe = report.probes[static_cast<size_t>(clicked)]->step;
  }
  const char* title = "Error of every tensor";
  const float middle = at.y + choice_row_height(context) / 2;
  draw_text(list, {at.x, middle - type.strong.size / 2}, type.strong, title);
  const float beside = text_width(type.strong, title) + context.px(20);
  const float row = choice_row_height(context) + context.px(6);
  const float line = type.note.size + context.px(6);
  const bool is_low = size.y - row - line < context.px(kLeastStrip);  // the bars need the height more
  if (is_low || least_legend_width(context, report, shown) <= room - beside) {
    draw_break_legend(context, report, shown, {at.x + beside, middle}, at.x + room);
    return row;
  }
  draw_break_legend(context, report, shown, {at.x, at.y + row + type.note.size / 2}, at.x + size.x);
  return row + line;
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
  const std::shared_ptr<const BreakProbe> chosen = chosen_probe(report, context.view.of<BreakView>().probe);
  const BreakProbe& probe = *chosen;
  const float head = draw_strip_head(context, report, probe, at, size);
  draw_break_strip(context, report, probe, {at.x, at.y + head}, {size.x, size.y - head});
  copyable_table("break errors", at, {at.x + size.x, at.y + size.y},
                 [&] { return errors_table(report, probe); });
  return size.y;
}

/// How to see it; while a lesson asks that, only that it does.
std::string words_to_see(const Context& context, const BreakReport& report) {
  return keeps_findings_back(context) ? "Answer the lesson's question, and this says it."
                                      : how_to_see(report);
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

/// The Stage of the run, below a head with the switch that chooses its side.
void draw_stage_below(const Context& context, ImVec2 at, ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::optional<SeenBreak> seen = seen_break(context);
  if (!seen) {
    const std::string words =
        context.replay.is_open()
            ? fmt::format("The Stage shows the open recording. Close it ({}) to see this run here.",
                          key_of("replay.close"))
            : "The Stage of this run comes with its first pass.";
    draw_wrapped(list, at, type.note, words, size.x);
    return;
  }
  const float head = draw_side_switch(context, *seen, at, size.x, "Stage");
  ImGui::SetCursorScreenPos({at.x, at.y + head});
  ImGui::BeginChild("stage", {size.x, size.y - head});
  draw_stage(context);
  ImGui::EndChild();
}

/// True if words, checks and curves have room below each other. Else the words are on the page of the errors.
bool words_are_beside_checks(const Context& context, const BreakReport& report, ImVec2 size) {
  const float words = words_height(context, words_to_see(context, report), size.x);
  const float curves = report.wanted_steps > 0 ? context.px(kLeastPicture) : 0;
  return words + break_checks_height(context) + curves + context.px(2 * kGap) <= size.y;
}

/// Where the error starts: every tensor's error and, if there is room, the Stage of the run.
void draw_errors_page(const Context& context, const BreakReport& report, ImVec2 at, ImVec2 size) {
  const float gap = context.px(kGap);
  // In front of a class a strip of the Stage would have room for two rows only, and the bars are asked about.
  const bool with_stage = !is_class(context.view) && size.y >= context.px(kLeastStrip + kLeastStage) + gap;
  const bool with_words = !with_stage && !words_are_beside_checks(context, report, size);
  const std::string words = words_to_see(context, report);
  float strip = size.y;
  if (with_stage) strip = std::floor(std::max(context.px(kLeastStrip), size.y * 0.36f));
  if (with_words)
    strip = std::max(context.px(kLeastPicture), size.y - gap - words_height(context, words, size.x));
  draw_errors(context, report, at, {size.x, strip});
  float end = at.y + strip;
  if (with_stage) draw_stage_below(context, {at.x, end + gap}, {size.x, size.y - strip - gap});
  if (with_words) end += gap + draw_words(context, words, {at.x, end + gap}, size.x);
  if (with_stage) return;
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({size.x, std::floor(end - at.y)});
}

/// How to see it: which check finds it, in words and as a list, and the curves of the training.
void draw_seeing_page(const Context& context, const BreakReport& report, ImVec2 at, ImVec2 size) {
  const float gap = context.px(kGap);
  float y = at.y;
  const bool with_words = words_are_beside_checks(context, report, size);
  const float checks = break_checks_height(context) + gap;
  if (with_words) y += draw_words(context, words_to_see(context, report), {at.x, y}, size.x) + gap;
  if (report.wanted_steps > 0) {
    // Where not all has room, the curves come first.
    const float rest = at.y + size.y - y - checks;
    const bool first = rest < context.px(kLeastPicture);
    const float room = first ? std::min(size.y, context.px(kLeastPicture)) : rest;
    draw_break_curves(context, report, {at.x, first ? y : y + checks}, {size.x, room});
    draw_break_checks(context, report, {at.x, first ? y + room + gap : y}, size.x);
    y += room + checks;
  } else {
    y += draw_break_checks(context, report, {at.x, y}, size.x) + gap;
  }
  if (report.wanted_steps == 0 && context.breaks.toy)
    y += draw_training_offer(context, report, {at.x, y + gap}, size.x) + gap;
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({size.x, std::floor(y - at.y)});
}

/// What the page waits for, in its middle, until the first pass of both models is compared.
void draw_awaited(const Context& context, ImVec2 at, ImVec2 size, float head) {
  if (!context.breaks.is_active()) return;
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool planning = context.breaks.state == BreakState::Preparing;
  const float middle = at.x + size.x / 2;
  float y = at.y + head + (size.y - head) / 3;
  const char* const stages[] = {"1  Plan the sound and the broken Program", "2  Run one pass of each",
                                "3  Compare every tensor"};
  float width = 0;
  for (const char* stage : stages) width = std::max(width, text_width(type.strong, stage));
  for (size_t i = 0; i < std::size(stages); ++i) {
    const bool present = i == (planning ? 0u : 1u);
    draw_text(list, {middle - width / 2, y}, present ? type.strong : type.note,
              fitted(present ? type.strong : type.note, stages[i], size.x));
    y += type.strong.size + context.px(10);
  }
}

void draw_results(const Context& context, ImVec2 at, ImVec2 size) {
  const BreakSnapshot& breaks = context.breaks;
  const float head = draw_head(context, at, size.x);
  if (!breaks.report || breaks.report->probes.empty()) return draw_awaited(context, at, size, head);
  const ImVec2 below{at.x, at.y + head}, rest{size.x, size.y - head};
  if (context.view.of<BreakView>().page == BreakPage::Loss)
    draw_seeing_page(context, *breaks.report, below, rest);
  else
    draw_errors_page(context, *breaks.report, below, rest);
}

/// The parts that this window shows one at a time.
std::vector<BreakPage> pages_of(bool beside) {
  if (beside) return {BreakPage::Errors, BreakPage::Loss};
  return {BreakPage::Faults, BreakPage::Errors, BreakPage::Loss};
}

std::string page_name(BreakPage page) {
  switch (page) {
    case BreakPage::Faults:
      return "mistakes";
    case BreakPage::Errors:
      return "where it starts";
    case BreakPage::Loss:
      return "how to see it";
  }
  return {};
}

/// The row that chooses a page; returns its height. If this window does not have the chosen page, Errors
/// replaces it.
float draw_pages(const Context& context, bool beside, ImVec2 at) {
  BreakPage& page = context.view.of<BreakView>().page;
  const std::vector<BreakPage> pages = pages_of(beside);
  if (std::find(pages.begin(), pages.end(), page) == pages.end()) page = BreakPage::Errors;
  std::vector<std::string> names;
  int taken = 0;
  for (const BreakPage one : pages) {
    if (one == page) taken = static_cast<int>(names.size());
    names.push_back(page_name(one));
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
  const bool planted = context.breaks.planted.has_value();
  // A class is asked about one mistake.
  const bool beside =
      planted && !is_class(context.view) && room.x >= context.px(kListBeside) && room.y >= context.px(kLow);
  const float left = beside ? context.px(kListWidth + 2 * kGap) : 0;
  float y = at.y;
  if (planted) {
    y += draw_pages(context, beside, {at.x + left, at.y});
  } else {
    const Type type(context);
    y += draw_wrapped(ImGui::GetWindowDrawList(), at, type.body,
                      "Plant a classic mistake in a copy of this model. The copy runs sound and broken, from "
                      "the same seed and on the same text, and every panel shows both until you switch the "
                      "mistake off (Esc).",
                      room.x) +
         context.px(kGap);
  }
  const float height = std::max(context.px(80), at.y + room.y - y);
  const bool list_shown = beside || !planted || context.view.of<BreakView>().page == BreakPage::Faults;
  if (list_shown) {
    const float top = beside ? at.y : y;
    ImGui::SetCursorScreenPos({at.x, top});
    ImGui::BeginChild("faults", {beside ? context.px(kListWidth) : room.x, at.y + room.y - top});
    draw_list(context, !planted);
    ImGui::EndChild();
  }
  if (!planted || (list_shown && !beside)) return;
  ImGui::SetCursorScreenPos({at.x + left, y});
  ImGui::BeginChild("results", {room.x - left, height});
  draw_results(context, ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail());
  ImGui::EndChild();
}

}  // namespace shardlens::ui
