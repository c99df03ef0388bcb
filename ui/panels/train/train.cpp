// The Train tab: what is trained and how, buttons that start and pause it, and the curves while they grow.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/base/counted.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/panels.h"
#include "ui/panels/train/train_parts.h"
#include "ui/panels/train/train_plot.h"
#include "ui/panels/train/train_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kFormWidth = 232, kWideFormWidth = 448;
constexpr float kFormHeight = 660;  ///< on a page that is lower the form has two columns
constexpr float kFormBeside = 860;  ///< from this width on, form and plots are side by side
constexpr float kGap = 12;

std::string steps_text(const TrainSnapshot& train) {
  std::string text;
  for (const auto& curve : train.curves) {
    text += fmt::format("{}step {} of {}", text.empty() ? "" : ", ",
                        grouped_text(static_cast<int64_t>(curve->steps.size())),
                        grouped_text(curve->options.steps));
    if (train.curves.size() > 1) text += " (" + curve->name + ")";
  }
  return text;
}

/// " · 12 s left"; nothing before every model has made a step.
std::string seconds_left(const TrainSnapshot& train) {
  double left = 0;
  for (const auto& curve : train.curves) {
    if (!curve->ended.empty()) continue;
    if (curve->steps.empty()) return {};
    left += curve->steps.back()->report.seconds_left;
  }
  return fmt::format(" · {:.0f} s left", left);
}

/// The words for a curve that a rank ended. The strip under the Bar says more.
std::string ended_words(const TrainCurve& curve) {
  return fmt::format("Ended in training step {}: {}. {}",
                     grouped_text(static_cast<int64_t>(curve.steps.size()) + 1),
                     fault_words(curve.plan->program, *curve.failure),
                     curve.saved_step > 0
                         ? fmt::format("It is saved up to training step {}.", grouped_text(curve.saved_step))
                         : "Nothing of it was saved. Choose Checkpoint before you start.");
}

/// The state of the training, in one line.
std::string state_text(const TrainSnapshot& train) {
  switch (train.state) {
    case TrainState::Idle:
      return "Nothing has been trained yet. Press Start to train the model chosen here, live, beside the run "
             "on the Stage.";
    case TrainState::Preparing:
      return train.activity.empty() ? "Preparing …" : "Preparing: " + train.activity + " …";
    case TrainState::Running:
      return as_sentence(steps_text(train)) +
             (train.activity.empty() ? seconds_left(train) : ", " + train.activity + " …");
    case TrainState::Paused:
      if (train.frozen)
        return fmt::format("Step {} is frozen: Stage and Inspector show it.", train.frozen->step);
      return "Paused at " + steps_text(train);
    case TrainState::Done:
      return "Done: " + steps_text(train);
    case TrainState::Stopped:
      return "Stopped at " + steps_text(train);
    case TrainState::Refused:
      return "Not possible: " + train.message;
    case TrainState::Failed:
      if (const TrainCurve* curve = failed_curve(train)) return ended_words(*curve);
      return "Failed: " + train.message;
  }
  return {};
}

/// The model, its settings, the text, and the machine that measured.
std::string run_text(const TrainSnapshot& train) {
  if (train.curves.empty() || !train.curves.front()->plan) return {};
  const Settings& settings = train.curves.front()->plan->program.settings;
  const std::string what =
      train.curves.size() > 1
          ? fmt::format("{}, {}, post-LN and pre-LN, same seed and batches", settings.model.title,
                        counted(settings.model.layers, "layer"))
          : fmt::format("{}, {}", settings.model.title, counted(settings.model.layers, "layer"));
  const std::string left_out = fmt::format("{}", fmt::join(train.text.left_out, " · "));
  return fmt::format("{} · T = {}, D = {} · {} · batch {} × {} · {}, {} tokens{}{} · measured on {}", what,
                     settings.tp, settings.dp, to_string(settings.dtype), settings.batch, settings.seq,
                     train.text.name, format_count(static_cast<double>(train.text.train_tokens)),
                     left_out.empty() ? "" : " · ", left_out, train.machine);
}

struct RunButton {
  std::string text;
  ButtonLook look;
  const char* command;
};

/// Brief words are about as long in every state: nothing moves when one is pressed.
enum class ButtonWords { Full, Brief, None };

std::vector<RunButton> run_buttons(const TrainSnapshot& train, ButtonWords words) {
  const bool paused = train.state == TrainState::Paused;
  const bool begun = train.is_active() || paused;
  const auto accent_if = [](bool wanted) { return wanted ? ButtonLook::Accent : ButtonLook::Plain; };
  const char* const anew = words == ButtonWords::Full ? ICON_FA_UNDO "  Start again" : ICON_FA_UNDO "  Again";
  std::vector<RunButton> buttons{
      {begun ? anew : ICON_FA_PLAY "  Start", accent_if(!begun), "train.start"},
      {paused ? ICON_FA_PLAY "  Go on" : ICON_FA_PAUSE "  Pause", accent_if(paused), "train.pause"},
      {ICON_FA_STOP "  Stop", ButtonLook::Plain, "train.stop"},
      {ICON_FA_SEARCH_PLUS "  Freeze", ButtonLook::Plain, "train.freeze"},
      {ICON_FA_UNLINK "  Lose a rank", ButtonLook::Plain, "train.lose_rank"}};
  if (words == ButtonWords::None)
    for (RunButton& button : buttons) button.text.resize(button.text.find(' '));
  return buttons;
}

/// Draws the buttons, in further rows where they do not fit into one. Returns the height.
float draw_buttons(const Context& context, ImVec2 at, float width, const std::vector<RunButton>& buttons) {
  const float gap = context.px(8);
  Rows rows(at, width, context.px(kControlHeight) + gap);
  for (const RunButton& button : buttons) {
    ImGui::SetCursorScreenPos(rows.place(button_width(context, button.text), gap));
    command_button(context, button.command, button.text, button.look);
  }
  return rows.bottom() - gap - at.y;
}

/// Draws the choice of models and the buttons: in one row, if needed without their words, else in two.
/// Returns the height.
float draw_controls(const Context& context, ImVec2 at, float width) {
  TrainView& view = context.view.of<TrainView>();
  const std::array<std::string, 2> pages{"one model", "post-LN and pre-LN"};
  std::vector<RunButton> buttons;
  const auto width_of = [&] {
    float sum = 0;
    for (const RunButton& button : buttons) sum += button_width(context, button.text) + context.px(8);
    return sum;
  };
  const float beside = choice_row_width(context, pages) + context.px(kGap + 4);
  const float height = context.px(kControlHeight), choices = choice_row_height(context);
  for (const ButtonWords words : {ButtonWords::Full, ButtonWords::Brief, ButtonWords::None}) {
    buttons = run_buttons(context.train, words);
    if (beside + width_of() <= width) break;
  }
  if (beside + width_of() > width) buttons = run_buttons(context.train, ButtonWords::Brief);
  const bool one_row = beside + width_of() <= width;
  const ImVec2 place{at.x, one_row ? at.y + std::round((height - choices) / 2) : at.y};
  const int clicked = choice_row(context, "page", place, pages, view.comparison ? 1 : 0);
  if (clicked >= 0 && view.comparison != (clicked == 1)) {
    view.comparison = clicked == 1;
    view.page = TrainPage::Choices;  // the curves still belong to the last training
  }
  if (one_row) {
    draw_buttons(context, {at.x + beside, at.y}, width - beside, buttons);
    return height;
  }
  const float above = choices + context.px(kGap);
  return above + draw_buttons(context, {at.x, at.y + above}, width, buttons);
}

/// Draws the state of the training and what is trained; returns the height.
float draw_state(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const TrainSnapshot& train = context.train;
  const bool wrong = train.state == TrainState::Refused || train.state == TrainState::Failed;
  float y = at.y + draw_wrapped(list, at, wrong ? type.strong : type.body, state_text(train), width);
  const auto line = [&](const TextStyle& style, const std::string& text) {
    y += context.px(4) + draw_wrapped(list, {at.x, y + context.px(4)}, style, text, width);
  };
  if (const std::string what = run_text(train); !what.empty()) line(type.note, what);
  for (const auto& curve : train.curves) {
    if (!curve->ended.empty() && !wrong) line(type.body, curve->name + ": " + curve->ended);
    if (!curve->save_problem.empty()) line(type.body, "Not saved: " + curve->save_problem);
  }
  return y - at.y;
}

/// Draws the state of the training, and at its right, or above it where there is little room, the choice of
/// the shown part. That includes the choices if they are not `beside` that part. Returns the height.
float draw_state_and_pages(const Context& context, ImVec2 at, float width, bool beside) {
  if (context.train.curves.empty()) return draw_state(context, at, width);
  TrainView& view = context.view.of<TrainView>();
  std::vector<std::string> names{"curves", "text"};
  std::vector<TrainPage> pages{TrainPage::Curves, TrainPage::Text};
  if (!beside) {
    names.insert(names.begin(), "choices");
    pages.insert(pages.begin(), TrainPage::Choices);
  }
  const float choices = choice_row_width(context, names);
  const auto taken = std::find(pages.begin(), pages.end(), view.page);  // not among them: the curves
  const auto shown = taken == pages.end() ? 0 : static_cast<int>(taken - pages.begin());
  const WordRoom words = room_for_words(context, width, choices + context.px(kGap));
  const ImVec2 place{words.alone ? at.x : at.x + width - choices, at.y};
  const int clicked = choice_row(context, "side", place, names, shown);
  if (clicked >= 0) view.page = pages[static_cast<size_t>(clicked)];
  const float above = words.alone ? choice_row_height(context) + context.px(kGap) : 0;
  return above + draw_state(context, {at.x, at.y + above}, words.width);
}

/// Draws the training in a recording: its curves, of which only the steps can be clicked.
void draw_recorded(const Context& context) {
  const Type type(context);
  const TrainSnapshot& train = context.train;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  ImDrawList* list = ImGui::GetWindowDrawList();
  float y = at.y;
  const auto line = [&](const TextStyle& style, const std::string& text) {
    y += draw_wrapped(list, {at.x, y}, style, text, room.x) + context.px(4);
  };
  if (train.curves.empty()) {
    const bool reading = context.replay.metrics && !context.replay.metrics->complete;
    return line(type.body, reading ? "Reading the recording's metrics …"
                                   : "This recording holds no training: its passes have no loss.");
  }
  const RecordingFacts& facts = *context.replay.recording;
  const auto& steps = train.curves.front()->steps;
  const int64_t first = steps.empty() ? 1 : steps.front()->report.step;
  const std::optional<int64_t> shown = shown_step(context, *train.curves.front());
  line(type.body,
       fmt::format(
           "{} steps{}{}, recorded by {}.{} Click a step to show its pass.", grouped_text(facts.passes),
           context.replay.is_live() ? " so far" : "",
           first > 1 ? fmt::format(" from step {} on", grouped_text(first)) : "", facts.verb,
           // Passes count from 0 and a training's steps from 1: both stand here once, beside each other.
           shown ? fmt::format(" The line is at step {}, which is pass {}.", grouped_text(*shown),
                               grouped_text(context.replay.pass))
                 : ""));
  const Settings& settings = facts.plan->program.settings;
  line(type.note, fmt::format("{}, {} · T = {}, D = {} · {} · batch {} × {} · {} on {}", settings.model.title,
                              counted(settings.model.layers, "layer"), settings.tp, settings.dp,
                              to_string(settings.dtype), settings.batch, settings.seq,
                              context.replay.is_live() ? "live" : "replayed", train.machine));
  if (train.curves.front()->stride > 1)
    line(type.note,
         fmt::format("There are too many steps to draw: every {}th is drawn.", train.curves.front()->stride));
  y += context.px(kGap);
  draw_train_plots(context, {at.x, y}, {room.x, std::max(context.px(80), at.y + room.y - y)});
}

}  // namespace

void draw_train(const Context& context) {
  if (context.replay.is_open()) return draw_recorded(context);
  TrainView& view = context.view.of<TrainView>();
  const ImGuiIO& io = ImGui::GetIO();
  view.changes.chose(view.form(), io.MouseDown[0] ? io.MouseClickedTime[0] : 0);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();

  const bool beside = room.x >= context.px(kFormBeside);
  // Without room for both, the curves and texts replace the form once there are any.
  const bool has_curves = !context.train.curves.empty();
  const bool form_shown = beside || view.page == TrainPage::Choices || !has_curves;
  const bool run_shown = beside || !form_shown;

  float y = at.y + draw_controls(context, at, room.x) + context.px(kGap);
  y += draw_state_and_pages(context, {at.x, y}, room.x, beside) + context.px(kGap);

  const float height = std::max(context.px(80), at.y + room.y - y);
  const bool low = height < context.px(kFormHeight);
  const float form_width = !beside ? room.x : context.px(low ? kWideFormWidth : kFormWidth);
  if (form_shown) {
    ImGui::SetCursorScreenPos({at.x, y - context.px(kGap)});
    ImGui::BeginChild("form", {form_width, height + context.px(kGap)});
    draw_train_form(context);
    ImGui::EndChild();
  }
  if (!run_shown) return;
  const float left = beside ? form_width + 2 * context.px(kGap) : 0;
  const auto draw_run = !has_curves                    ? draw_before_training
                        : view.page == TrainPage::Text ? draw_train_text
                                                       : draw_train_plots;
  draw_run(context, {at.x + left, y}, {room.x - left, height});
}

}  // namespace shardlens::ui
