// The page that compares two recordings, or a recording with the same run made here. It offers a choice of
// both and shows where they part.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>

#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "ui/outbox.h"
#include "ui/panels/compare/compare_pages.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/recordings_parts.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kPadding = 12;
const std::array<std::string, 4> kParts{"steps", "totals", "memory", "losses"};

DiffWish wish_of(const DiffView& view) {
  return {view.a, view.b_here ? std::string() : view.b};
}

bool is_chosen(const DiffView& view) {
  return !view.a.empty() && (view.b_here || !view.b.empty());
}

/// Asks for the chosen comparison, once. If B runs here, it waits until nothing else computes.
void ask_diff(const Context& context) {
  DiffView& view = context.view.of<DiffView>();
  if (!is_chosen(view)) {
    if (view.asked) context.send(diff_command::Clear{});
    view.asked.reset();
    return;
  }
  const DiffWish wish = wish_of(view);
  if (view.asked == wish) return;
  if (view.b_here && !why_not_measured(context).empty()) return;
  view.asked = wish;
  view.row = -1;
  context.send(diff_command::Compare{wish});
}

void choose(DiffView& view, bool is_b, const std::string& path) {
  (is_b ? view.b : view.a) = path;
  if (is_b) view.b_here = false;
}

/// True if A is known to record a training. Such a recording does not hold the text, so it cannot be run
/// here.
bool is_of_a_training(const Context& context) {
  const std::string& path = context.view.of<DiffView>().a;
  const ComparedRuns* runs = context.diff.compared.get();
  if (runs != nullptr && runs->a.path == path) return is_training(runs->a.verb);
  if (context.replay.is_open() && context.replay.recording->path == path)
    return is_training(context.replay.recording->verb);
  return std::any_of(gallery().begin(), gallery().end(), [&](const GalleryPiece& piece) {
    return path == "gallery:" + piece.name && piece.arguments.starts_with("train");
  });
}

/// Draws the recordings that A or B can be.
void draw_choices(const Context& context, bool is_b) {
  DiffView& view = context.view.of<DiffView>();
  if (ImGui::MenuItem("Open a file …"))
    choose_recording(context, is_b ? ChosenFor::CompareB : ChosenFor::CompareA);
  if (is_b) {
    const bool training = is_of_a_training(context);
    if (ImGui::MenuItem("Run A's settings here", nullptr, false, !training)) {
      view.b_here = true;
      view.asked.reset();
    }
    tooltip(context, training ? "A records a training but does not hold its text, so it cannot run here. "
                                "Record the same training here, then choose both files."
                              : "");
  }
  if (context.replay.is_open()) {
    const std::string& open = context.replay.recording->path;
    if (ImGui::MenuItem(("Open now: " + recording_title(open) + "##open").c_str())) choose(view, is_b, open);
  }
  const std::vector<std::string>& recent = recent_there(context);
  if (!recent.empty()) {
    ImGui::SeparatorText("Made or opened last");
    for (size_t i = 0; i < recent.size(); ++i) {
      const std::string& path = recent[i];
      if (ImGui::MenuItem(fmt::format("{}##recent {}", file_name(path), i).c_str())) choose(view, is_b, path);
      if (ImGui::IsItemHovered()) show_tooltip(context, path);
    }
  }
  ImGui::SeparatorText("Gallery");
  for (const GalleryPiece& piece : gallery()) {
    if (ImGui::MenuItem(fmt::format("{}###{}", piece.title, piece.name).c_str()))
      choose(view, is_b, "gallery:" + piece.name);
    if (ImGui::IsItemHovered()) tooltip(context, piece.shows);
  }
}

float slot_height(const Context& context) {
  const Type type(context);
  return context.px(2 * 8) + type.strong.size + context.px(4) + type.note.size;
}

/// Draws a card that names the recording. A click offers others.
void draw_slot(const Context& context, bool is_b, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  const DiffView& view = context.view.of<DiffView>();
  const std::string& path = is_b ? view.b : view.a;
  const bool here = is_b && view.b_here;
  const char* id = is_b ? "recording B" : "recording A";
  ImGui::SetCursorScreenPos(min);
  ImGui::PushID(id);
  if (click_area("choice", size)) ImGui::OpenPopup("choices");
  const bool hovered = ImGui::IsItemHovered();
  tooltip(context, path.empty() || here ? "Choose another recording" : path);
  ImGui::SetNextWindowSizeConstraints({size.x * 0.6f, 0}, {FLT_MAX, context.px(520)});
  const ImVec2 max{min.x + size.x, min.y + size.y};
  if (ImGui::BeginComboPopup(ImGui::GetID("choices"), {min, max}, ImGuiComboFlags_None)) {
    draw_choices(context, is_b);
    ImGui::EndCombo();
  }
  ImGui::PopID();
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, min, max, theme.card, context.px(6));
  outline_rect(list, min, max, hovered ? theme.forward : theme.line, context.px(6),
               std::max(1.0f, context.px(1)));
  const ImU32 colour = run_colour(theme, is_b);
  fill_rect(list, min, {min.x + context.px(4), max.y}, colour, context.px(2));
  const float left = min.x + context.px(16), top = min.y + context.px(8);
  draw_text(list, {left, top}, in(type.strong, colour), is_b ? "B" : "A");
  const float words = left + context.px(20), room = max.x - context.px(32) - words;
  const bool none = path.empty() && !here;
  const std::string title = here   ? "Run A's settings here"
                            : none ? "Choose a recording …"
                                   : recording_title(path);
  draw_text(list, {words, top}, in(type.strong, none ? theme.dim : theme.text),
            fitted(type.strong, title, room));
  const ComparedRuns* runs = context.diff.compared.get();
  std::string says = none ? "a file, one opened before, or one of the gallery" : path;
  if (runs != nullptr && context.diff.wish == wish_of(view))
    says = run_words(is_b ? runs->b : runs->a, is_b ? runs->diff.b_passes : runs->diff.a_passes);
  else if (here)
    says = "on this machine";
  draw_text(list, {words, top + type.strong.size + context.px(4)}, type.note, fitted(type.note, says, room));
  draw_text(list, {max.x - context.px(16), (min.y + max.y - type.body.size) / 2}, in(type.body, theme.dim),
            ICON_FA_CARET_DOWN, Align::Centre);
}

/// Draws A, the button that swaps them, and B, side by side if there is room. Returns the height it took.
float draw_slots(const Context& context, ImVec2 at, float width) {
  DiffView& view = context.view.of<DiffView>();
  const float height = slot_height(context), side = context.px(kControlHeight), gap = context.px(8);
  const bool beside = width >= context.px(620);
  const float slot = std::floor(beside ? (width - side - 2 * gap) / 2 : width - side - gap);
  draw_slot(context, false, at, {slot, height});
  const ImVec2 second =
      beside ? ImVec2{at.x + slot + side + 2 * gap, at.y} : ImVec2{at.x, at.y + height + gap};
  draw_slot(context, true, second, {slot, height});
  const float bottom = second.y + height;
  const ImVec2 middle{at.x + slot + gap, (at.y + bottom - side) / 2};
  ImGui::SetCursorScreenPos(middle);
  ImGui::BeginDisabled(view.b_here || (view.a.empty() && view.b.empty()));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(0, 0));
  if (ImGui::Button(ICON_FA_RETWEET "###swap", {side, side})) std::swap(view.a, view.b);
  ImGui::PopStyleVar();
  ImGui::EndDisabled();
  tooltip(context, "Swaps A and B");
  return bottom - at.y;
}

struct VerdictLook {
  ImU32 colour;
  const char* icon;
};

VerdictLook look_of(const Theme& theme, DiffVerdict verdict) {
  switch (verdict) {
    case DiffVerdict::Same:
      return {theme.agreement, ICON_FA_CHECK};
    case DiffVerdict::Parted:
      return {theme.communication, ICON_FA_CODE_BRANCH};
    case DiffVerdict::Unknown:
      return {theme.dim, ICON_FA_QUESTION};
  }
  return {theme.dim, ICON_FA_QUESTION};
}

/// Draws the answer in words, and the buttons that open the place in A or B. Returns the height it took.
float draw_answer(const Context& context, const ComparedRuns& runs, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  const Answer answer = answer_of(runs);
  const VerdictLook look = look_of(theme, answer.verdict);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float pad = context.px(kPadding), icon = context.px(28);
  const float left = at.x + pad + icon;

  const bool parted = answer.verdict == DiffVerdict::Parted;
  const bool has_b = !runs.b.file.empty();
  const char *const show_a = parted ? "See it in A" : "Replay A", *const show_b =
                                                                      parted ? "See it in B" : "Replay B";
  const float step = context.px(8);
  const float buttons =
      button_width(context, show_a) + step + (has_b ? button_width(context, show_b) + step : 0);
  const WordRoom words_room = room_for_words(context, at.x + width - pad - left, buttons);
  split_layers(list, 2);
  choose_layer(list, 1);
  float y = at.y + pad;
  draw_text(list, {at.x + pad + step, y}, in(type.title, look.colour), look.icon, Align::Centre);
  const TextStyle headline =
      text_width(type.title, answer.headline) < words_room.width ? type.title : type.figure;
  y += draw_wrapped(list, {left, y}, headline, answer.headline, words_room.width - step);
  const float top = words_room.alone ? y + step : at.y + step;
  float right = at.x + width - pad;
  const auto button = [&](const char* id, const char* text, const char* help) {
    right -= button_width(context, text);
    ImGui::SetCursorScreenPos({right, top});
    const bool pressed = draw_button(context, id, text, ButtonLook::Plain, true, help);
    right -= step;
    return pressed;
  };
  if (has_b && button("show in B", show_b, "Opens B, at this pass and step"))
    show_parting(context, runs, true);
  if (button("show in A", show_a, "Opens A, at this pass and step")) show_parting(context, runs, false);
  y = std::max(y + context.px(6), top + context.px(kControlHeight + 4));
  const float room = width - 2 * pad - icon;
  for (const std::string& words : answer.lines)
    y += draw_wrapped(list, {left, y}, in(type.body, theme.text), words, room) + context.px(4);
  std::string notes =
      answer.notes.empty() ? std::string() : fmt::format("{}. ", fmt::join(answer.notes, " · "));
  notes += unlike_words(runs);
  if (!notes.empty()) y += draw_wrapped(list, {left, y}, type.note, notes, room) + context.px(4);
  y += pad - context.px(4);
  choose_layer(list, 0);
  fill_rect(list, at, {at.x + width, y}, theme.card, context.px(6));
  fill_rect(list, at, {at.x + context.px(4), y}, look.colour, context.px(2));
  join_layers(list);
  return y - at.y;
}

/// Draws what happens now or what prevents it, and the button that changes it. Returns the height it took.
float draw_state(const Context& context, ImVec2 at, float width) {
  const Type type(context);
  DiffView& view = context.view.of<DiffView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::string words, label, help;
  const bool waits = view.b_here && view.asked != wish_of(view);
  if (context.diff.busy) {
    words = as_sentence(context.diff.activity) + " …";
    label = "Stop";
    help = "Stops the comparison";
  } else if (!is_chosen(view)) {
    words =
        "Choose two recordings of the same run: made twice, on two machines, before and after a change, or "
        "with another split. This page shows where their values begin to differ and what takes longer in "
        "which run.";
  } else if (waits) {
    words = why_not_measured(context) + ". Then A's run starts here.";
  } else if (!context.diff.message.empty()) {
    words = as_sentence(context.diff.message);
    if (!words.empty() && words.back() != '.') words += ".";
    words += " You can choose another recording above.";
    label = view.b_here ? "Run it again" : "Try again";
  }
  if (words.empty()) return 0;
  float taken = 0;
  if (!label.empty()) {
    taken = button_width(context, label) + context.px(16);
    ImGui::SetCursorScreenPos({at.x + width - taken + context.px(16), at.y});
    if (draw_button(context, "state", label, ButtonLook::Plain, true, help)) {
      if (context.diff.busy)
        context.send(diff_command::Stop{});
      else
        view.asked.reset();
    }
  }
  const ImU32 ink = context.diff.message.empty() ? context.theme.dim : context.theme.communication;
  const float height =
      draw_wrapped(list, {at.x, at.y + context.px(7)}, in(type.body, ink), words, width - taken);
  return std::max(height + context.px(7), label.empty() ? 0.0f : context.px(kControlHeight)) + context.px(8);
}

void draw_part(const Context& context, const std::shared_ptr<const ComparedRuns>& runs, ImVec2 at,
               float width, float bottom) {
  DiffView& view = context.view.of<DiffView>();
  const int clicked = choice_row(context, "part", at, kParts, static_cast<int>(view.part));
  if (clicked >= 0) view.part = static_cast<DiffPart>(clicked);
  const float head = choice_row_height(context) + context.px(8);
  const ImVec2 min{at.x, at.y + head}, size{width, std::max(context.px(120), bottom - at.y - head)};
  switch (view.part) {
    case DiffPart::Steps:
      return draw_diff_steps(context, runs, min, size);
    case DiffPart::Totals:
      return draw_diff_totals(context, *runs, min, size);
    case DiffPart::Memory:
      return draw_diff_memory(context, *runs, min, size);
    case DiffPart::Metrics:
      return draw_diff_metrics(context, *runs, min, size);
  }
}

}  // namespace

ImU32 run_colour(const Theme& theme, bool is_b) {
  return is_b ? theme.backward : theme.forward;
}

void show_parting(const Context& context, const ComparedRuns& runs, bool in_b) {
  DiffJump jump;
  jump.file = in_b ? runs.b.file : runs.a.file;
  jump.step = 0;
  if (const auto& parting = runs.diff.parting) {
    jump.pass = in_b ? parting->b_pass : parting->a_pass;
    jump.step = std::max(0, parting->a_step);
    jump.tensor = in_b ? parting->b_tensor : parting->a_tensor;
    if (in_b) {
      const auto pair = std::find_if(runs.diff.steps.begin(), runs.diff.steps.end(),
                                     [&](const StepDiff& step) { return step.a == parting->a_step; });
      jump.step = pair != runs.diff.steps.end() ? pair->b : 0;
    }
  }
  context.view.of<DiffView>().jump = jump;
  if (!context.replay.is_open() || context.replay.recording->path != jump.file)
    context.send(replay_command::Open{jump.file});
}

void draw_recordings(const Context& context) {
  ask_diff(context);
  const DiffView& view = context.view.of<DiffView>();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, bottom = at.y + ImGui::GetContentRegionAvail().y;
  const float title = page_title(context, "Where do two runs differ?", at, width,
                                 compare_choice_width(context) + context.px(16));
  float y = at.y + std::max(title, choice_row_height(context)) + context.px(10);
  y += draw_slots(context, {at.x, y}, width) + context.px(8);
  y += draw_state(context, {at.x, y}, width);
  const std::shared_ptr<const ComparedRuns>& runs = context.diff.compared;
  if (runs && is_chosen(view) && context.diff.wish == wish_of(view)) {
    const float top = y;
    y += draw_answer(context, *runs, {at.x, y}, width);
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect({at.x, top}, {at.x + width, y})) {
      if (ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("copy answer");
      if (!ImGui::GetIO().WantTextInput && ImGui::IsKeyChordPressed(ImGuiMod_Ctrl | ImGuiKey_C))
        copy_text(answer_text(*runs), "the answer");
    }
    if (ImGui::BeginPopup("copy answer")) {
      if (ImGui::MenuItem("Copy as text")) copy_text(answer_text(*runs), "the answer");
      ImGui::EndPopup();
    }
    y += context.px(10);
    draw_part(context, runs, {at.x, y}, width, bottom);
  }
}

}  // namespace shardlens::ui
