// Choosing a recording: a path that is typed, or the files of a folder. The folder is read by the Replay's
// thread, not while drawing.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/commands/keys_of_controls.h"
#include "ui/outbox.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/platform/file_dialog.h"
#include "ui/settings/model_path.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kChooserWidth = 640;
constexpr float kFileRowHeight = 30;
constexpr float kMostRows = 12;

std::string parent_of(const std::string& folder) {
  const size_t slash = folder.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : folder.substr(0, slash);
}

const char* title_of(ChosenFor purpose) {
  switch (purpose) {
    case ChosenFor::Replay:
      return "Open a recording";
    case ChosenFor::Attach:
      return "Attach to a running job";
    case ChosenFor::CompareA:
      return "Compare: choose recording A";
    case ChosenFor::CompareB:
      return "Compare: choose recording B";
    case ChosenFor::Model:
      return "Open a model's folder or weights";
  }
  return "";
}

/// A line with a mark, a name and dim words at its right. True when clicked.
bool draw_entry(const Context& c, const std::string& id, const char* icon, const std::string& name,
                const std::string& words, bool live = false) {
  const Type type(c);
  const ImVec2 min = ImGui::GetCursorScreenPos();
  const ImVec2 max{min.x + ImGui::GetContentRegionAvail().x, min.y + c.px(kFileRowHeight)};
  const bool clicked = click_area(id.c_str(), {max.x - min.x, max.y - min.y});
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered()) fill_rect(list, min, max, ImGui::GetColorU32(ImGuiCol_Header), c.px(4));
  const float y = (min.y + max.y - type.body.size) / 2;
  draw_text(list, {min.x + c.px(20), y}, in(type.body, live ? c.theme.recording : c.theme.dim), icon,
            Align::Centre);
  const float right = max.x - c.px(12);
  draw_text(list, {right, (min.y + max.y - type.mono_note.size) / 2}, type.mono_note, words, Align::Right);
  draw_text(list, {min.x + c.px(40), y}, in(type.body, c.theme.text),
            fitted(type.body, name, right - text_width(type.mono_note, words) - c.px(16) - min.x - c.px(40)));
  return clicked;
}

/// Lists a folder, or opens the model in it if a model is chosen.
void take_folder(const Context& c, const std::string& folder) {
  if (c.view.of<ChooserView>().chosen_for == ChosenFor::Model) return take_chosen(c, folder);
  c.send(replay_command::List{folder});
}

/// `has_own`: this studio's own recordings have a folder, which is offered in every other folder.
void draw_folder(const Context& c, const RecordingList& files, bool has_own) {
  const Type type(c);
  const std::string at = files.folder == "/" ? "/" : files.folder + "/";
  const bool is_recording = c.view.of<ChooserView>().chosen_for != ChosenFor::Model;
  if (is_recording && has_own && files.folder != c.view.recordings &&
      draw_entry(c, "own", ICON_FA_DOT_CIRCLE, "Recordings made here", ""))
    c.send(replay_command::List{c.view.recordings});
  if (files.folder != "/" && draw_entry(c, "..", ICON_FA_ARROW_UP, "..", ""))
    c.send(replay_command::List{parent_of(files.folder)});
  if (!is_recording && names_a_model(files.folder) &&
      draw_entry(c, "this model", ICON_FA_CUBE, "The model in this folder", "config.json"))
    take_chosen(c, files.folder);
  for (const RecordingList::Entry& entry : files.entries) {
    if (!is_recording && !entry.is_folder) continue;
    const std::string size = entry.is_folder ? "" : bytes_text(static_cast<double>(entry.bytes));
    if (!draw_entry(c, entry.name, entry.is_folder ? ICON_FA_FOLDER : ICON_FA_FILM, entry.name, size))
      continue;
    if (entry.is_folder)
      take_folder(c, at + entry.name);
    else
      take_chosen(c, at + entry.name);
  }
  const bool any_file = std::any_of(files.entries.begin(), files.entries.end(),
                                    [](const auto& entry) { return !entry.is_folder; });
  if ((any_file || !is_recording) && files.problem.empty()) return;
  const ImVec2 pen = ImGui::GetCursorScreenPos();
  const std::string says =
      files.problem.empty() ? "No recordings in this folder." : as_sentence(files.problem);
  const float height = draw_wrapped(ImGui::GetWindowDrawList(), {pen.x + c.px(12), pen.y + c.px(8)},
                                    in(type.body, c.theme.dim), says, c.px(kChooserWidth - 80));
  ImGui::Dummy({1, height + c.px(16)});
}

/// Draws the recordings that are being written on this machine now.
void draw_running(const Context& c, const RecordingList& files) {
  const Type type(c);
  const ChosenFor purpose = c.view.of<ChooserView>().chosen_for;
  if (purpose == ChosenFor::Model || (files.running.empty() && purpose != ChosenFor::Attach)) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, ImGui::GetCursorScreenPos(), in(type.note, c.theme.dim),
            "Being recorded on this machine now");
  ImGui::Dummy({0, type.note.size + c.px(4)});
  for (const std::string& path : files.running)
    if (draw_entry(c, "running:" + path, ICON_FA_CIRCLE, file_name(path), parent_of(path), true))
      take_chosen(c, path);
  if (files.running.empty()) {
    const ImVec2 pen = ImGui::GetCursorScreenPos();
    const float height =
        draw_wrapped(list, {pen.x + c.px(12), pen.y + c.px(4)}, in(type.body, c.theme.dim),
                     "Nothing. A job started with --record FILE.shardlens appears here while it runs. If its "
                     "file is in another folder, enter the file's path above.",
                     c.px(kChooserWidth - 80));
    ImGui::Dummy({1, height + c.px(8)});
  }
  ImGui::Dummy({0, c.px(8)});
}

void take_typed(const Context& c, const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown)) return take_chosen(c, path);
  c.view.of<ChooserView>().missing = path;
  c.view.of<ChooserView>().refused = true;
}

}  // namespace

void draw_recording_chooser(const Context& c) {
  if (!c.view.chooser_open) return;
  ChooserView& chooser = c.view.of<ChooserView>();
  const int frame = ImGui::GetFrameCount();
  const bool just_opened = chooser.opened_frame != frame - 1;  // its field then takes the keyboard
  chooser.opened_frame = frame;
  if (just_opened) {
    set_keys_of_controls(true);
    std::error_code none;
    chooser.missing.clear();
    chooser.has_own = std::filesystem::is_directory(c.view.recordings, none);
  }

  const Type type(c);
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const float width = std::min(c.px(kChooserWidth), viewport.WorkSize.x - c.px(32));
  begin_cover(c, "Open a recording", {viewport.Pos.x + viewport.Size.x / 2, viewport.Pos.y + c.px(64)},
              {0.5f, 0}, {width, 0}, c.px(16), ImGuiWindowFlags_NoScrollbar);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text(ImGui::GetWindowDrawList(), at, type.strong, title_of(chooser.chosen_for));
  if (chooser.chosen_for == ChosenFor::Replay || chooser.chosen_for == ChosenFor::Model)
    draw_text(ImGui::GetWindowDrawList(), {at.x + ImGui::GetContentRegionAvail().x, at.y + c.px(2)},
              type.note, "or drop one on the window", Align::Right);
  ImGui::Dummy({0, type.strong.size + c.px(4)});
  const float button = button_width(c, "Open");
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - button - c.px(8));
  if (just_opened || std::exchange(chooser.refused, false)) ImGui::SetKeyboardFocusHere();
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(c.px(12), c.px(8)));
  const char* const hint = chooser.chosen_for == ChosenFor::Model
                               ? "path of a model's folder, or of a .safetensors file in it"
                               : "path of a .shardlens file, or of a folder";
  const bool entered =
      ImGui::InputTextWithHint("##path", hint, &chooser.path,
                               ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  ImGui::PopStyleVar();
  ImGui::SameLine(0, c.px(8));
  const bool clicked = draw_button(c, "open path", "Open", ButtonLook::Accent, !chooser.path.empty(), "");
  if ((entered || clicked) && !chooser.path.empty()) take_typed(c, chooser.path);
  if (!chooser.missing.empty() && chooser.missing == chooser.path) {
    const ImVec2 pen = ImGui::GetCursorScreenPos();
    draw_text(ImGui::GetWindowDrawList(), {pen.x, pen.y + c.px(4)}, in(type.note, c.theme.text),
              "There is no file or folder with this path.");
    ImGui::Dummy({0, type.note.size + c.px(8)});
  }
  ImGui::Dummy({0, c.px(4)});
  if (ImGui::GetTime() - chooser.listed_seconds > 1 && c.replay.list) {
    chooser.listed_seconds = ImGui::GetTime();
    c.send(replay_command::List{c.replay.list->folder});
  }
  const bool is_recording = chooser.chosen_for != ChosenFor::Model && chooser.chosen_for != ChosenFor::Attach;
  if (has_file_dialog() && is_recording &&
      draw_entry(c, "of this machine", ICON_FA_FOLDER_OPEN, "A file of this machine \u2026", ""))
    ask_for_files(".shardlens,.md");
  if (c.replay.list) {
    draw_running(c, *c.replay.list);
    const ImVec2 pen = ImGui::GetCursorScreenPos();
    draw_text(ImGui::GetWindowDrawList(), pen, type.mono_note,
              fitted(type.mono_note, c.replay.list->folder, ImGui::GetContentRegionAvail().x));
    ImGui::Dummy({0, type.mono_note.size + c.px(4)});
    const float most = viewport.Size.y - c.px(64) - (ImGui::GetCursorScreenPos().y - viewport.Pos.y);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    ImGui::BeginChild("recordings", {0, std::max(c.px(60), std::min(c.px(kFileRowHeight * kMostRows), most))},
                      ImGuiChildFlags_NavFlattened);
    draw_folder(c, *c.replay.list, chooser.has_own);
    ImGui::EndChild();
    ImGui::PopStyleVar();
  }
  if (end_cover()) c.view.close_covers();
}

}  // namespace shardlens::ui
