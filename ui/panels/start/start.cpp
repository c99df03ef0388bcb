// The Start tab, which people see first: things to try on the layer that runs here, recordings that come with
// the studio, recordings made or opened last, and the lessons that are planned.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>

#include "engine/config/lessons.h"
#include "engine/config/splits.h"
#include "engine/record/gallery.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/commands/commands.h"
#include "ui/outbox.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kPadding = 20;
constexpr float kGap = 12;
constexpr float kLeastCard = 300;
constexpr float kCardPadding = 14;

/// One thing to look at, and what a click does.
struct Look {
  const char* id;
  const char* icon;
  const char* title;
  const char* words;
  void (*go)(const Context&);
};

void show_split(const Context& c, const char* split) {
  show_tab(c, Tab::Stage);
  Settings settings = c.wanted();
  if (c.replay.is_open()) {  // a recording is no run of this machine: use the default layer
    settings = Settings{};
    settings.tp = 4;
  }
  settings.split = named_split(split);
  if (c.replay.is_open())
    c.send(command::SetSettings{settings});
  else if (settings != c.wanted())  // if equal, it has run or runs already: only show it
    c.want(settings);
}

constexpr Look kLooks[] = {
    {"stage", ICON_FA_TH_LARGE, "Walk through a layer",
     "Every rank's part of every tensor, from the newest run. The arrow keys go through the steps.",
     [](const Context& c) { show_split(c, "megatron"); }},
    {"reversed", ICON_FA_RANDOM, "Cut it the other way",
     "Row before column: where does the all-reduce go, and how wide does it get?",
     [](const Context& c) { show_split(c, "reversed"); }},
    {"memory", ICON_FA_DATABASE, "See what fits where",
     "16 bytes a parameter against a device's memory, and what T does to it.",
     [](const Context& c) { show_tab(c, Tab::Memory); }},
    {"compare", ICON_FA_COLUMNS, "Set splits side by side",
     "The same step at the same height; or every legal split, ranked.",
     [](const Context& c) { show_tab(c, Tab::Compare); }},
    {"train", ICON_FA_GRADUATION_CAP, "Train a toy",
     "Text, loss and every layer's gradients, live; freeze any step.",
     [](const Context& c) { show_tab(c, Tab::Train); }},
    {"break", ICON_FA_BUG, "Plant a mistake",
     "Twelve classic ones. Where does the error start, and which check finds it?",
     [](const Context& c) { show_tab(c, Tab::BreakIt); }},
};

struct Card {
  std::string id, icon, title, words, note;
};

/// For a command line: the body font would draw its two dashes as one.
TextStyle note_style(const Context& c, const Type& type) {
  return {c.fonts.mono, type.note.size, type.note.colour};
}

float card_height(const Context& c, const Type& type, const Card& card, float width) {
  const float inner = width - c.px(2 * kCardPadding);
  const float note = card.note.empty() ? 0 : wrapped_height(note_style(c, type), card.note, inner) + c.px(8);
  return c.px(2 * kCardPadding) + type.strong.size + c.px(6) + wrapped_height(type.body, card.words, inner) +
         note;
}

/// True when clicked.
bool draw_card(const Context& c, const Type& type, const Card& card, ImVec2 at, ImVec2 size) {
  ImGui::SetCursorScreenPos(at);
  const bool clicked = click_area(card.id.c_str(), size);
  const bool hovered = ImGui::IsItemHovered() || ImGui::IsItemFocused();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 max{at.x + size.x, at.y + size.y};
  fill_rect(list, at, max, c.theme.card, c.px(6));
  outline_rect(list, at, max, hovered ? c.theme.forward : c.theme.line, c.px(6), std::max(1.0f, c.px(1)));
  const float inner = size.x - c.px(2 * kCardPadding);
  ImVec2 pen{at.x + c.px(kCardPadding), at.y + c.px(kCardPadding)};
  const float icon = type.strong.size + c.px(8);
  draw_text(list, {pen.x + type.strong.size / 2, pen.y}, in(type.strong, c.theme.forward), card.icon,
            Align::Centre);
  draw_text(list, {pen.x + icon, pen.y}, type.strong, fitted(type.strong, card.title, inner - icon));
  pen.y += type.strong.size + c.px(6);
  draw_wrapped(list, pen, in(type.body, c.theme.dim), card.words, inner);
  if (!card.note.empty()) {
    const TextStyle note = note_style(c, type);
    draw_wrapped(list, {pen.x, max.y - c.px(kCardPadding) - wrapped_height(note, card.note, inner)}, note,
                 card.note, inner);
  }
  return clicked;
}

void section(const Context& c, const Type& type, const char* title, const std::string& words) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, at, type.figure, title);
  const float beside = text_width(type.figure, title) + c.px(12);
  draw_text(list, {at.x + beside, at.y + type.figure.size - type.note.size - c.px(1)}, type.note,
            fitted(type.note, words, ImGui::GetContentRegionAvail().x - beside));
  ImGui::Dummy({0, type.figure.size + c.px(4)});
}

/// As many columns as the page has room for.
struct Grid {
  int columns;
  float width;  ///< of each
};
Grid grid_of(const Context& c) {
  const float room = ImGui::GetContentRegionAvail().x;
  const int columns = std::clamp(static_cast<int>((room + c.px(kGap)) / c.px(kLeastCard + kGap)), 1, 3);
  return {columns,
          std::floor((room - c.px(kGap) * static_cast<float>(columns - 1)) / static_cast<float>(columns))};
}

/// A grid of cards as wide as the page; returns the one clicked, or -1.
int draw_cards(const Context& c, const Type& type, const std::vector<Card>& cards) {
  const auto [columns, width] = grid_of(c);
  int clicked = -1;
  ImVec2 at = ImGui::GetCursorScreenPos();
  const float left = at.x;
  for (size_t first = 0; first < cards.size(); first += static_cast<size_t>(columns)) {
    const size_t end = std::min(cards.size(), first + static_cast<size_t>(columns));
    float height = 0;
    for (size_t i = first; i < end; ++i) height = std::max(height, card_height(c, type, cards[i], width));
    at.x = left;
    for (size_t i = first; i < end; ++i) {
      if (draw_card(c, type, cards[i], at, {width, height})) clicked = static_cast<int>(i);
      at.x += width + c.px(kGap);
    }
    at.y += height + c.px(kGap);
  }
  ImGui::SetCursorScreenPos({left, at.y});
  ImGui::Dummy({0, c.px(8)});
  return clicked;
}

void draw_live(const Context& c, const Type& type) {
  section(c, type, "Try", "on this machine, live");
  std::vector<Card> cards;
  for (const Look& look : kLooks)
    cards.push_back({std::string("look:") + look.id, look.icon, look.title, look.words, {}});
  const int clicked = draw_cards(c, type, cards);
  if (clicked < 0) return;
  if (c.replay.is_open()) c.send(replay_command::Close{});
  kLooks[clicked].go(c);
}

void draw_gallery(const Context& c, const Type& type) {
  section(c, type, "Gallery", "real runs, recorded; they replay anywhere");
  std::vector<Card> cards;
  for (const GalleryPiece& piece : gallery())
    cards.push_back({"piece:" + piece.name, ICON_FA_FILM, piece.title, piece.shows,
                     bytes_text(static_cast<double>(piece.file_bytes)) + " · " + piece.arguments});
  const int clicked = draw_cards(c, type, cards);
  if (clicked >= 0) c.send(replay_command::Open{"gallery:" + gallery()[static_cast<size_t>(clicked)].name});
}

void draw_recent(const Context& c, const Type& type) {
  const std::vector<std::string>& recent = recent_there(c);
  section(c, type, "Recent",
          recent.empty() ? "recordings that you make, or open from files, are listed here" : "");
  std::vector<Card> cards;
  for (const std::string& path : recent) {
    const std::filesystem::path file(path);
    cards.push_back({fmt::format("recent:{}", cards.size()),
                     ICON_FA_FILE,
                     file.stem().string(),
                     file.parent_path().string(),
                     {}});
  }
  const int clicked = draw_cards(c, type, cards);
  if (clicked >= 0) c.send(replay_command::Open{recent[static_cast<size_t>(clicked)]});
  if (draw_button(c, "start:open", "Open a recording …", ButtonLook::Plain, true,
                  "Opens a .shardlens file. You can also drop one on the window"))
    find_command("replay.open").run(c);
  ImGui::SameLine(0, c.px(8));
  command_button(c, "replay.attach", "Attach to a running job …");
}

/// Draws the names of the planned lessons. They must not look clickable.
void draw_lessons(const Context& c, const Type& type) {
  const std::vector<LessonToCome>& lessons = lessons_to_come();
  if (lessons.empty()) return;
  ImGui::Dummy({0, c.px(8)});
  section(c, type, "Lessons", "to come; the question that each answers");
  const auto [columns, width] = grid_of(c);
  const size_t rows = (lessons.size() + static_cast<size_t>(columns) - 1) / static_cast<size_t>(columns);
  const float inner = width - c.px(kCardPadding), head = type.body.size + c.px(3);
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImVec2 at = ImGui::GetCursorScreenPos();
  const float left = at.x;
  for (size_t row = 0; row < rows; ++row) {
    float height = 0;
    at.x = left;
    for (size_t i = row; i < lessons.size(); i += rows) {  // in their order down each column
      draw_text(list, at, in(type.body, c.theme.text), fitted(type.body, lessons[i].title, inner));
      height =
          std::max(height, head + draw_wrapped(list, {at.x, at.y + head}, type.note, lessons[i].asks, inner));
      at.x += width + c.px(kGap);
    }
    at.y += height + c.px(10);
  }
  ImGui::SetCursorScreenPos({left, at.y});
  ImGui::Dummy({0, c.px(8)});
}

}  // namespace

void draw_start(const Context& c) {
  const Type type(c);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(kPadding), c.px(kPadding)));
  ImGui::BeginChild("start page", {0, 0},
                    ImGuiChildFlags_AlwaysUseWindowPadding | ImGuiChildFlags_NavFlattened);
  ImGui::PopStyleVar();
  draw_live(c, type);
  draw_gallery(c, type);
  draw_recent(c, type);
  draw_lessons(c, type);
  ImGui::EndChild();
}

}  // namespace shardlens::ui
