// The strip of the open recording: its name, the buttons that play its passes, its place in time, and buttons
// for notes, a run here and closing. For a live run it also shows the age of the newest data. The row never
// overflows: it drops words before it drops a control.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/clock.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/commands/walk.h"
#include "ui/outbox.h"
#include "ui/panels/panels.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

constexpr float kGap = 8;
constexpr float kLeastScrubber = 96, kGoodScrubber = 220;
constexpr float kLongestName = 180;

/// Which words the strip shows.
struct Words {
  bool machine = true;  ///< beside the file's name
  bool buttons = true;  ///< else icons
  bool name = true;
  size_t position = 0;  ///< of positions(): 0 the fullest
  bool few = false;     ///< on a phone: only what plays, the moment and the way out
};

std::vector<Words> from_full_to_least() {
  std::vector<Words> all(1);
  const auto then = [&](const auto& change) {
    all.push_back(all.back());
    change(all.back());
  };
  then([](Words& w) { w.machine = false; });
  then([](Words& w) { w.buttons = false; });
  then([](Words& w) { w.position = 1; });
  then([](Words& w) { w.name = false; });
  then([](Words& w) { w.position = 2; });
  then([](Words& w) { w.position = 3; });
  then([](Words& w) { w.few = true; });
  return all;
}

struct Row {
  Words words;
  std::string name, machine, age, ended, follow, position, notes, here, close;
  FieldText speed;
  float position_width = 0, scrubber = 0;
};

TextStyle name_style(const Context& c) {
  return {c.fonts.bold, c.px(kBodySize), c.theme.text};
}
TextStyle note_style(const Context& c) {
  return {c.fonts.body, c.px(kSmallSize), c.theme.dim};
}
TextStyle ended_style(const Context& c) {
  return {c.fonts.bold, c.px(kSmallSize), c.theme.communication};
}
TextStyle position_style(const Context& c) {
  return {c.fonts.body, c.px(kSmallSize), c.theme.text};
}

/// How the run ended early: killed or failed. Empty if it ended normally or still runs.
std::string early_end(const ReplaySnapshot& replay, bool brief) {
  if (replay.is_live()) return {};
  const RecordingFacts& facts = *replay.recording;
  if (!facts.finished) return brief ? "run killed" : "its run was killed";
  if (!facts.failure.empty()) return brief ? "run failed" : "its run failed";
  return {};
}

/// The room for the age. It is the same for every age, so that nothing moves while the age grows.
float age_width(const Context& c, const Words& words) {
  const bool silent = c.replay.writer == WriterState::Silent;
  const std::string longest = silent ? kLongestAge : "00:00 min ago";
  return text_width(position_style(c), (words.machine ? "" : "live \u00B7 ") + longest);
}

Row row_with(const Context& c, const Words& words, float available) {
  const ReplaySnapshot& replay = c.replay;
  Row row;
  row.words = words;
  if (words.name)
    row.name = fitted_in_middle(name_style(c), file_name(replay.recording->path), c.px(kLongestName));
  if (words.machine)
    row.machine = replay.recording->verb + (replay.is_live() ? ", live on " : ", recorded on ") +
                  replay.recording->machine + (replay.is_live() ? ", being recorded" : "");
  row.ended = early_end(replay, !words.machine);
  if (replay.is_live()) {
    row.age = (words.machine ? "" : "live \u00B7 ") + age_text(replay, now_seconds());
    row.follow = ICON_FA_EYE "  Follow";
  }
  const std::vector<std::string> places = positions(replay), ends = last_positions(replay);
  const size_t form = std::min(words.position, places.size() - 1);
  if (!words.few) row.position = places[form];
  if (!words.few)
    row.position_width =
        std::max(text_width(position_style(c), row.position), text_width(position_style(c), ends[form]));
  const size_t notes = replay.notes ? replay.notes->size() : 0;
  const std::string count = notes > 0 ? fmt::format(" {}", notes) : "";
  row.notes = words.buttons ? fmt::format(ICON_FA_BOOKMARK "  Notes{}", count)
                            : fmt::format(ICON_FA_BOOKMARK "{}", count);
  row.here = words.buttons ? ICON_FA_PLAY_CIRCLE "  Run here too" : ICON_FA_PLAY_CIRCLE;
  row.close = words.buttons ? ICON_FA_TIMES "  Close" : ICON_FA_TIMES;
  row.speed = {"", replay_speeds()[speed_index(c.view.of<ReplayView>().speed)].words};
  float taken = c.px(24) + 3 * c.px(kControlHeight + 4) + field_width(c, row.speed);
  if (words.name) taken += text_width(name_style(c), row.name) + c.px(kGap);
  if (words.machine) taken += text_width(note_style(c), row.machine) + c.px(kGap);
  if (!row.ended.empty()) taken += text_width(ended_style(c), row.ended) + c.px(kGap);
  taken += row.position_width;
  if (replay.is_live()) taken += age_width(c, words) + c.px(kGap) + button_width(c, row.follow) + c.px(kGap);
  taken += button_width(c, row.close);
  if (!words.few) taken += button_width(c, row.notes) + button_width(c, row.here);
  row.scrubber = available - taken - (words.few ? 5 : 8) * c.px(kGap);
  return row;
}

Row choose_row(const Context& c, float available) {
  Row row;
  for (const Words& words : from_full_to_least()) {
    row = row_with(c, words, available);
    if (row.scrubber >= c.px(words.buttons ? kGoodScrubber : kLeastScrubber)) break;
  }
  row.scrubber = std::max(row.scrubber, c.px(48));
  return row;
}

/// A square button that runs one of the table's commands.
void icon_button(const Context& c, const char* icon, const char* id) {
  const UiCommand& command = find_command(id);
  const float side = c.px(kControlHeight);
  ImGui::BeginDisabled(!command.is_enabled(c));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(0, 0));
  if (ImGui::Button(fmt::format("{}###{}", icon, id).c_str(), {side, side})) command.run(c);
  ImGui::PopStyleVar();
  ImGui::EndDisabled();
  tooltip(c, explanation(command));
  ImGui::SameLine(0, c.px(4));
}

void draw_speed(const Context& c, const FieldText& text) {
  if (draw_field(c, "speed", text)) ImGui::OpenPopup("speeds");
  tooltip(c, "How fast Space plays: step by step, or by the recorded clock.");
  const ImVec2 below{ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + c.px(4)};
  ImGui::SetNextWindowPos(below, ImGuiCond_Appearing);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(12), c.px(12)));
  if (ImGui::BeginPopup("speeds")) {
    for (const ReplaySpeed& speed : replay_speeds()) {
      const bool chosen = speed.seconds_a_second == c.view.of<ReplayView>().speed;
      if (ImGui::Selectable(speed.words, chosen, 0, {c.px(132), c.px(24)}))
        set_replay_speed(c, speed.seconds_a_second);
      if (chosen) ImGui::SetItemDefaultFocus();
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

/// Draws the whole recording as one line: a click or a drag goes to a moment, a mark is a note.
void draw_scrubber(const Context& c, float width) {
  const ReplaySnapshot& replay = c.replay;
  const Theme& theme = c.theme;
  const float height = c.px(kControlHeight);
  const bool possible = replay.recording->passes > 0 && replay.recording->seconds > 0;
  ImGui::BeginDisabled(!possible);
  ImGui::InvisibleButton("moment", {width, height});
  ImGui::EndDisabled();
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  const double whole = std::max(replay.recording->seconds, 1e-9);
  const auto x_of = [&](double seconds) {
    return min.x + width * static_cast<float>(std::clamp(seconds / whole, 0.0, 1.0));
  };
  const auto seconds_at = [&](float x) {
    return whole * static_cast<double>(std::clamp((x - min.x) / width, 0.f, 1.f));
  };
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = std::round((min.y + max.y) / 2), half = c.px(3);
  fill_rect(list, {min.x, middle - half}, {max.x, middle + half}, theme.ghost, half);
  const float at = std::round(x_of(replay.seconds));
  fill_rect(list, {min.x, middle - half}, {at, middle + half}, mixed(theme.panel, theme.forward, 0.6f), half);
  const ReplayNote* under = nullptr;
  if (replay.notes) {
    for (const ReplayNote& note : *replay.notes) {
      const float x = std::round(x_of(note.note.seconds));
      fill_rect(list, {x - c.px(1), min.y + c.px(5)}, {x + c.px(1), middle - half}, theme.text);
      list->AddCircleFilled({x, min.y + c.px(5)}, c.px(3), theme.text);
      const bool near =
          std::abs(ImGui::GetIO().MousePos.x - x) < c.px(5) && ImGui::GetIO().MousePos.y < middle - half;
      if (near && ImGui::IsItemHovered()) under = &note;
    }
  }
  list->AddCircleFilled({at, middle}, c.px(7), theme.forward);
  list->AddCircle({at, middle}, c.px(7), theme.panel, 0, c.px(1.5f));
  if (!possible) return;
  const float mouse = ImGui::GetIO().MousePos.x;
  if (under != nullptr && ImGui::IsItemActivated()) return go_to(c, *under);
  if (ImGui::IsItemActive() && under == nullptr &&
      (ImGui::IsItemActivated() || ImGui::GetIO().MouseDelta.x != 0))
    c.send(replay_command::Seek{seconds_at(mouse)});
  if (under != nullptr)
    tooltip(c, place_of(replay, *under) + (under->note.text.empty() ? "" : "\n" + under->note.text));
  else
    tooltip(c, "Click or drag to choose the moment that is shown");
}

}  // namespace

void draw_replay_bar(const Context& c) {
  const ReplaySnapshot& replay = c.replay;
  const Row row = choose_row(c, ImGui::GetContentRegionAvail().x);
  const float gap = c.px(kGap);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = c.px(kControlHeight);
  float x = at.x;
  const auto words = [&](const TextStyle& style, const std::string& text) {
    if (text.empty()) return;
    draw_text(list, {x, std::round(at.y + (height - style.size) / 2)}, style, text);
    x += text_width(style, text) + gap;
  };
  const bool live = replay.is_live();
  words({c.fonts.body, c.px(kBodySize), live ? c.theme.recording : c.theme.forward},
        live ? ICON_FA_CIRCLE : ICON_FA_FILM);
  words(name_style(c), row.name);
  words(note_style(c), row.machine);
  words(ended_style(c), row.ended);
  if (live) {
    const float end = x + age_width(c, row.words) + gap;
    words(position_style(c), row.age);
    x = end;
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("recording", {std::max(1.f, x - at.x - gap), height});
  const RecordingFacts& facts = *replay.recording;
  std::string about = fmt::format("{}\n`{}`, recorded on {}\ncommunicator {}: {}", facts.path, facts.verb,
                                  facts.machine, facts.communicator.name, facts.communicator.reason);
  if (live)
    about +=
        "\nThe run still goes on and writes this file. Watching does not change the run. What it has written "
        "appears here within a second.";
  else if (!facts.finished)
    about += "\nIts run was killed. Everything before that is in the recording.";
  else if (!facts.failure.empty())
    about += fmt::format("\nIts run failed: {}. Everything before that is in the recording.", facts.failure);
  if (facts.dropped_passes > 0)
    about += fmt::format("\n{} passes are not in it: {}", facts.dropped_passes, facts.problem);
  tooltip(c, about);

  ImGui::SetCursorScreenPos({x + gap, at.y});
  icon_button(c, ICON_FA_FAST_BACKWARD, "replay.previous_pass");
  icon_button(c, is_playing(c) ? ICON_FA_PAUSE : ICON_FA_PLAY, "run.play");
  icon_button(c, ICON_FA_FAST_FORWARD, "replay.next_pass");
  draw_speed(c, row.speed);
  if (live) {
    ImGui::SameLine(0, gap);
    command_button(c, "replay.follow", row.follow, replay.follows ? ButtonLook::Accent : ButtonLook::Plain);
  }
  ImGui::SameLine(0, gap * 2);
  draw_scrubber(c, row.scrubber);
  ImGui::SameLine(0, gap * (row.words.few ? 1 : 2));
  if (!row.words.few) {
    x = ImGui::GetCursorScreenPos().x;
    const float notes_x = x + row.position_width + 2 * gap;
    words(position_style(c), row.position);
    ImGui::SetCursorScreenPos({notes_x, at.y});
    command_button(c, "replay.notes", row.notes);
    ImGui::SameLine(0, gap);
    command_button(c, "replay.run_here", row.here);
    ImGui::SameLine(0, gap);
  }
  command_button(c, "replay.close", row.close);
}

}  // namespace shardlens::ui
