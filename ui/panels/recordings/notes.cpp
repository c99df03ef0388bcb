// Bookmarks and notes of the recording that is open: a list at the right, below the strip of the replay. They
// are in the file itself, so everyone who gets the file has them.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/notes_view.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/plan/cache.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/word_filter.h"

namespace shardlens::ui {
namespace {

constexpr float kNotesWidth = 440;
constexpr float kMostHeight = 520;
constexpr const char* kLiveNotes =
    "The run still writes this file. Notes stay in this window and are saved in the file when the run has "
    "ended.";

/// The notes whose text or place holds the words of the filter.
const std::vector<const ReplayNote*>& found_notes(const ReplaySnapshot& replay, const std::string& filter) {
  using Notes = std::shared_ptr<const std::vector<ReplayNote>>;
  static Cache<std::pair<Notes, std::string>, std::vector<const ReplayNote*>> known;
  return known.of({replay.notes, filter}, [&] {
    std::vector<const ReplayNote*> found;
    for (const ReplayNote& note : *replay.notes)
      if (matches_words(place_of(replay, note) + " " + note.note.text, filter)) found.push_back(&note);
    return found;
  });
}

TextTable copied(const ReplaySnapshot& replay) {
  TextTable table{
      {{"pass", Align::Right}, {"step", Align::Right}, {"rank"}, {"seconds", Align::Right}, {"note"}}, {}};
  for (const ReplayNote& note : *replay.notes)
    table.rows.push_back({std::to_string(note.pass), note.note.step < 0 ? "" : std::to_string(note.note.step),
                          note.note.rank < 0 ? "all" : std::to_string(note.note.rank),
                          fmt::format("{:.6f}", note.note.seconds),
                          note.note.text.empty() ? "(bookmark)" : note.note.text});
  return table;
}

/// Draws the field for a new note, and the button that saves it in the file.
void draw_new_note(const Context& c) {
  NotesView& view = c.view.of<NotesView>();
  const float add = button_width(c, "Add");
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - add - c.px(8));
  if (view.focus_new) ImGui::SetKeyboardFocusHere();
  view.focus_new = false;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(c.px(8), c.px(8)));
  const std::string typed = view.text;
  const bool entered = ImGui::InputTextWithHint("##note", "A note about this moment and this step",
                                                &view.text, ImGuiInputTextFlags_EnterReturnsTrue);
  // Escape leaves the field but keeps the typed text.
  if (ImGui::IsItemDeactivated() && !entered && ImGui::IsKeyPressed(ImGuiKey_Escape, false))
    view.text = typed;
  ImGui::PopStyleVar();
  ImGui::SameLine(0, c.px(8));
  const bool possible = c.replay.recording->passes > 0;
  const bool clicked = draw_button(c, "add note", "Add", ButtonLook::Accent, possible,
                                   "Saves it in the file. Without words it is a bookmark");
  if ((!entered && !clicked) || !possible) return;
  c.send(replay_command::AddNote{note_here(c, view.text)});
  view.text.clear();
  if (entered) view.focus_new = true;
}

TextStyle words_style(const Context& c, const ReplayNote& note) {
  return in(Type(c).body, note.note.text.empty() ? c.theme.dim : c.theme.text);
}
std::string words_of(const ReplayNote& note) {
  return note.note.text.empty() ? "bookmark" : note.note.text;
}
float note_text_width(const Context& c, float width) {
  return width - c.px(64 + 12);
}
float note_height(const Context& c, const ReplayNote& note, float width) {
  if (c.view.of<NotesView>().edited == note.note.id && note.note.id != 0) return c.px(64);
  return c.px(38) + wrapped_height(words_style(c, note), words_of(note), note_text_width(c, width));
}

/// Draws one note and returns its height. A click goes to its place.
float draw_note(const Context& c, const ReplayNote& note, ImVec2 at, float width) {
  const Type type(c);
  const Theme& theme = c.theme;
  NotesView& view = c.view.of<NotesView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool edited = view.edited == note.note.id && note.note.id != 0;
  const float text_width = note_text_width(c, width), height = note_height(c, note, width);
  const std::string text = words_of(note);
  const TextStyle words = words_style(c, note);
  ImGui::PushID(static_cast<int>(note.note.id));
  ImGui::SetCursorScreenPos(at);
  ImGui::SetNextItemAllowOverlap();
  const bool clicked = click_area("go", {width, height});
  const bool hovered = ImGui::IsItemHovered();
  const bool here = note.pass == c.replay.pass;
  if (hovered || here)
    fill_rect(list, at, {at.x + width, at.y + height}, hovered ? theme.line : theme.card, c.px(4));
  const std::string place = place_of(c.replay, note) + (note.saved ? "" : " · not saved");
  draw_text(list, {at.x + c.px(8), at.y + c.px(7)}, in(type.note, here ? theme.forward : theme.dim),
            fitted(type.note, place, text_width));
  const auto icon = [&](const char* name, const char* glyph, float x, const char* help) {
    ImGui::SetCursorScreenPos({x, at.y + c.px(2)});
    const bool pressed = click_area(name, {c.px(26), c.px(26)});
    const ImU32 ink = ImGui::IsItemHovered() ? theme.text : theme.dim;
    draw_text(list, {x + c.px(13), at.y + c.px(8)}, {c.fonts.body, c.px(kSmallSize), ink}, glyph,
              Align::Centre);
    tooltip(c, help);
    return pressed;
  };
  bool changed = icon("edit", ICON_FA_EDIT, at.x + width - c.px(60), "Change the words");
  const bool removed = icon("remove", ICON_FA_TRASH, at.x + width - c.px(32), "Remove it from the file");
  if (edited) {
    ImGui::SetCursorScreenPos({at.x + c.px(8), at.y + c.px(30)});
    ImGui::SetNextItemWidth(width - c.px(16));
    if (changed) view.edited = 0;  // a second click on the pencil ends the edit
    if (ImGui::InputText("##words", &view.edited_text, ImGuiInputTextFlags_EnterReturnsTrue)) {
      c.send(replay_command::EditNote{note.note.id, view.edited_text});
      view.edited = 0;
    }
  } else {
    draw_wrapped(list, {at.x + c.px(8), at.y + c.px(28)}, words, text, text_width);
    if (changed) {
      view.edited = note.note.id;
      view.edited_text = note.note.text;
    }
  }
  if (removed) c.send(replay_command::RemoveNote{note.note.id});
  if (clicked && !edited && !changed && !removed) go_to(c, note);
  ImGui::PopID();
  return height;
}

}  // namespace

void draw_notes(const Context& c, float top) {
  NotesView& view = c.view.of<NotesView>();
  if (!view.open || !c.replay.notes) return;
  const Type type(c);
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const float width = std::min(c.px(kNotesWidth), viewport.Size.x - c.px(32));
  float wanted = c.px(c.replay.is_live() ? 190 : 150);  // as high as its notes, within bounds
  for (const ReplayNote& note : *c.replay.notes)
    if (wanted < c.px(kMostHeight)) wanted += note_height(c, note, width - c.px(48)) + c.px(4);
  const float height = std::min({wanted, c.px(kMostHeight), viewport.Size.y - top - c.px(32)});
  ImGui::SetNextWindowPos({viewport.Pos.x + viewport.Size.x - c.px(16), viewport.Pos.y + top + c.px(8)},
                          ImGuiCond_Always, {1, 0});
  ImGui::SetNextWindowSize({width, height});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(16), c.px(12)));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0f);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, c.theme.panel);
  ImGui::Begin("Notes", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  if (ImGui::IsWindowAppearing()) ImGui::SetWindowFocus();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float inner = ImGui::GetContentRegionAvail().x;
  draw_text(ImGui::GetWindowDrawList(), at, type.strong, "Notes");
  if (!c.replay.notes->empty())
    copy_button(c, "copy notes", {at.x + inner - c.px(36), at.y}, [&] { return copied(c.replay); });
  ImGui::SetCursorScreenPos({at.x + inner - c.px(24), at.y - c.px(2)});
  if (click_area("close notes", {c.px(24), c.px(24)})) view.open = false;
  const ImU32 ink = ImGui::IsItemHovered() ? c.theme.text : c.theme.dim;
  draw_text(ImGui::GetWindowDrawList(), {at.x + inner - c.px(12), at.y + c.px(2)},
            {c.fonts.body, c.px(kBodySize), ink}, ICON_FA_TIMES, Align::Centre);
  ImGui::SetCursorScreenPos({at.x, at.y + c.px(30)});
  draw_new_note(c);
  ImGui::Dummy({0, c.px(4)});
  if (c.replay.is_live()) {
    const ImVec2 below = ImGui::GetCursorScreenPos();
    const float taken =
        draw_wrapped(ImGui::GetWindowDrawList(), below, in(type.note, c.theme.text), kLiveNotes, inner);
    ImGui::Dummy({1, taken + c.px(4)});
  }
  if (c.replay.notes->size() > 1) {
    ImGui::SetNextItemWidth(inner);
    ImGui::InputTextWithHint("##filter", "search: words of a note, a step or a pass", &view.filter);
  } else {
    view.filter.clear();
  }
  ImGui::BeginChild("list of notes");
  const float room = ImGui::GetContentRegionAvail().x;
  ImVec2 pen = ImGui::GetCursorScreenPos();
  pen.y += c.px(4);
  const std::vector<const ReplayNote*>& found = found_notes(c.replay, view.filter);
  for (const ReplayNote* note : found) pen.y += draw_note(c, *note, pen, room) + c.px(4);
  if (found.empty())
    pen.y += draw_wrapped(ImGui::GetWindowDrawList(), {pen.x, pen.y + c.px(4)}, in(type.body, c.theme.dim),
                          c.replay.notes->empty()
                              ? "No notes yet. Press B to set a bookmark at the moment and step on the "
                                "screen, or N to write a note. Both are saved in the file."
                              : "No note has these words.",
                          room) +
             c.px(8);
  ImGui::SetCursorScreenPos(pen);
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
  ImGui::End();
}

}  // namespace shardlens::ui
