// The command palette: a search box for the whole table. Letters of a title, in their order, find a command.
#include <imcmd_fuzzy_search.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "engine/base/utf8.h"
#include "ui/commands/commands.h"
#include "ui/commands/glossary.h"
#include "ui/frame/narrow.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/word_filter.h"

namespace shardlens::ui {
namespace {

/// State that the palette keeps from frame to frame. Opening the palette resets it.
struct PaletteView {
  std::string typed;
  int chosen = 0;
  int opened_frame = -2;
  bool brings = false;   ///< the list scrolls to the choice in this frame, because a key moved it
  bool refused = false;  ///< the last choice is not possible now, so the field keeps the keyboard
};

constexpr float kWidth = 640;
constexpr float kRowHeight = 32;
constexpr int kMostRows = 12;

/// A command that matches the typed text, and where it matches.
struct Match {
  const UiCommand* command = nullptr;
  bool possible = true;    ///< now
  bool in_title = true;    ///< false: only the explanation matches
  bool has_words = false;  ///< the title has the typed words, not only their letters
  bool is_name = false;    ///< the typed words are the title
  int score = 0;
  std::vector<uint8_t> letters = {};  ///< indices into the title

  bool found_at(size_t index) const {
    return std::find(letters.begin(), letters.end(), index) != letters.end();
  }
};

/// The words of a title or of what is typed, without signs and capitals: "Split: reversed" is "split
/// reversed". Of a question it is what is asked about.
std::string bare_words(std::string_view text) {
  if (text.starts_with(kAsksMeaning)) text.remove_prefix(kAsksMeaning.size());
  std::string bare;
  for (const char c : lower_case(text)) {
    const bool is_sign = c == ' ' || c == ':' || c == ',' || c == '.';
    if (!is_sign) bare += c;
    if (is_sign && !bare.empty() && bare.back() != ' ') bare += ' ';
  }
  while (bare.ends_with(' ')) bare.pop_back();
  return bare;
}

/// Returns the matching commands. If nothing is typed: all, in the table's order. Otherwise the command of
/// that name comes first, then titles with the typed words, then titles with their letters, then
/// explanations. In each group the possible ones come first, then those that do something before those that
/// explain it: who types "split reversed" wants that split; then the best scores.
std::vector<Match> matches_of(const Context& context, const std::string& typed) {
  std::vector<Match> found;
  for (const UiCommand& command : commands()) {
    if (command.id == "view.palette") continue;
    Match match{.command = &command, .possible = command.is_enabled(context)};
    if (!typed.empty()) {
      uint8_t letters[32];
      int count = 0;
      if (ImCmd::FuzzySearch(typed.c_str(), command.title.c_str(), match.score, letters, 32, count))
        match.letters.assign(letters, letters + count);
      else if (matches_words(command.title + " " + command.help + " " + command.other_words, typed))
        match.in_title = false, match.score = 0;
      else
        continue;
      match.is_name = bare_words(command.title) == bare_words(typed);
      match.has_words = match.in_title && matches_words(command.title, typed);
    }
    found.push_back(std::move(match));
  }
  if (typed.empty()) return found;
  std::stable_sort(found.begin(), found.end(), [](const Match& a, const Match& b) {
    const auto order = [](const Match& match) {
      const bool acts = match.command->group != CommandGroup::Glossary;
      return std::tuple(match.is_name, match.has_words, match.in_title, match.possible, acts, match.score);
    };
    return order(a) > order(b);
  });
  return found;
}

/// Draws the title with the found letters in the accent colour, then as much of the explanation as fits, then
/// the key.
void draw_row(const Context& context, ImVec2 min, ImVec2 max, const Match& match) {
  const bool enabled = match.possible;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Theme& theme = context.theme;
  const TextStyle title{context.fonts.body, context.px(kBodySize), enabled ? theme.text : theme.faint};
  const TextStyle hit{context.fonts.bold, context.px(kBodySize), enabled ? theme.forward : theme.faint};
  const TextStyle small{context.fonts.body, context.px(kSmallSize), enabled ? theme.dim : theme.faint};
  const TextStyle key{context.fonts.mono, context.px(kSmallSize), enabled ? theme.dim : theme.faint};
  const UiCommand& command = *match.command;
  const float title_y = (min.y + max.y - title.size) / 2;
  const float small_y = (min.y + max.y - small.size) / 2;
  float x = min.x + context.px(12);
  for (size_t i = 0; i < command.title.size();) {  // whole stretches, because a letter may have several bytes
    const bool found = match.found_at(i);
    size_t end = i + 1;
    while (end < command.title.size() &&
           (is_inside_character(command.title[end]) || match.found_at(end) == found))
      ++end;
    const std::string_view stretch = std::string_view(command.title).substr(i, end - i);
    draw_text(list, {x, title_y}, found ? hit : title, stretch);
    x += text_width(found ? hit : title, stretch);
    i = end;
  }
  float right = max.x - context.px(12);
  if (!command.keys.empty()) {
    const std::string text = key_text(command.keys.front());
    draw_text(list, {right, small_y}, key, text, Align::Right);
    right -= text_width(key, text) + context.px(12);
  }
  x = std::max(x + context.px(16), min.x + context.px(196));
  // In a narrow window only a few letters would fit. The chosen row's words stand whole below the list.
  if (x < right && !is_narrow(context.view))
    draw_text(list, {x, small_y}, small, fitted(small, command.help, right - x));
}

/// Draws the whole explanation of the chosen command under the list, because a row may have to cut it.
void draw_explanation(const Context& context, const std::string& words) {
  const TextStyle style{context.fonts.body, context.px(kSmallSize), context.theme.text};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = context.px(44);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({at.x, at.y + 0.5f}, {at.x + width, at.y + 0.5f}, context.theme.line, 1);
  draw_wrapped(list, {at.x + context.px(12), at.y + context.px(9)}, style, words, width - context.px(24));
  ImGui::Dummy({width, height});
}

}  // namespace

void draw_palette(const Context& context) {
  ViewState& view = context.view;
  if (!view.palette_open) return;
  PaletteView& state = view.of<PaletteView>();
  const int frame = ImGui::GetFrameCount();
  const bool just_opened = state.opened_frame != frame - 1;
  if (just_opened) state = {};
  state.opened_frame = frame;

  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const float width = std::min(context.px(kWidth), viewport.WorkSize.x - context.px(32));
  begin_cover(context, "Command palette",
              {viewport.Pos.x + viewport.Size.x / 2, viewport.Pos.y + context.px(64)}, {0.5f, 0}, {width, 0},
              context.px(8), ImGuiWindowFlags_NoScrollbar);
  ImGui::SetNextItemWidth(-1);
  if (just_opened || std::exchange(state.refused, false)) ImGui::SetKeyboardFocusHere();
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(context.px(12), context.px(8)));
  state.brings = just_opened;
  if (ImGui::InputTextWithHint("##search", "Type a few letters of a command", &state.typed)) {
    state.chosen = 0;
    state.brings = true;
  }
  ImGui::PopStyleVar();

  const std::vector<Match> found = matches_of(context, state.typed);
  const int count = static_cast<int>(found.size());
  const int by =
      (ImGui::IsKeyPressed(ImGuiKey_DownArrow) ? 1 : 0) - (ImGui::IsKeyPressed(ImGuiKey_UpArrow) ? 1 : 0);
  state.chosen += by;
  state.brings = state.brings || by != 0;
  state.chosen = std::clamp(state.chosen, 0, std::max(0, count - 1));
  int run = -1;
  if (ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false)) {
    run = state.chosen;
    state.refused = count == 0;
  }

  const float row = context.px(kRowHeight);
  const float rows_that_fit = (viewport.Size.y - context.px(64 + 140)) / row;
  const float rows =
      std::clamp(static_cast<float>(std::min(count, kMostRows)), 1.f, std::max(1.f, rows_that_fit));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("commands", {0, rows * row});
  if (count == 0) {
    const TextStyle small{context.fonts.body, context.px(kSmallSize), context.theme.dim};
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text(ImGui::GetWindowDrawList(), {at.x + context.px(12), at.y + (row - small.size) / 2}, small,
              "No command matches");
  }
  for (int i = 0; i < count; ++i) {
    const Match& match = found[static_cast<size_t>(i)];
    const ImVec2 min = ImGui::GetCursorScreenPos();
    const ImVec2 max{min.x + ImGui::GetContentRegionAvail().x, min.y + row};
    if (ImGui::InvisibleButton(match.command->id.c_str(), {max.x - min.x, row})) run = i;
    if (ImGui::IsItemHovered() && (ImGui::GetIO().MouseDelta.x != 0 || ImGui::GetIO().MouseDelta.y != 0)) {
      state.chosen = i;
    }
    if (i == state.chosen) {
      fill_rect(ImGui::GetWindowDrawList(), min, max, ImGui::GetColorU32(ImGuiCol_Header), context.px(4));
      // The mouse chooses what it is on. If that scrolled, the row would leave the mouse, and so on.
      if (state.brings) ImGui::ScrollToItem(ImGuiScrollFlags_KeepVisibleEdgeY);
    }
    draw_row(context, min, max, match);
  }
  ImGui::EndChild();
  if (count > 0) {
    const Match& chosen = found[static_cast<size_t>(state.chosen)];
    draw_explanation(context, (chosen.possible ? "" : "Not possible now. ") + chosen.command->help);
  } else {
    draw_explanation(context, "");
  }
  ImGui::PopStyleVar();

  if (end_cover()) view.close_covers();
  if (run >= 0 && run < count) {
    const Match& match = found[static_cast<size_t>(run)];
    if (match.possible) {
      view.palette_open = false;
      match.command->run(context);
    } else {
      state.refused = true;
      if (match.command->refuse) match.command->refuse(context);
      if (!view.said.empty()) view.palette_open = false;  // the palette would cover the message
    }
  }
}

}  // namespace shardlens::ui
