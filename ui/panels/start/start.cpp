// The Start tab, which people see first: lessons, things to try on the layer that runs here, recordings that
// come with the studio, and recordings made or opened last.
#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/planner/parameters.h"
#include "engine/record/gallery.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/commands/commands.h"
#include "ui/outbox.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/panels.h"
#include "ui/panels/parts.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/setup/setup.h"
#include "ui/panels/start/cards.h"
#include "ui/panels/start/lessons.h"
#include "ui/panels/start/start_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kPadding = 20;
constexpr double kLookEverySeconds = 1;  ///< at the folder of lessons, while the page is shown

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
     "16 bytes per parameter against a device's memory, and what T does to it.",
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

/// The picture of one of the gallery's recordings, once it is read.
Picture picture_of(const Context& c, const std::string& piece) {
  return [&c, piece](ImDrawList* list, ImVec2 min, ImVec2 max) {
    if (const auto glimpse = c.view.of<StartView>().glimpses->of(piece))
      draw_glimpse(c, list, *glimpse, min, max);
  };
}

/// A rank's column for each T against the device's line, as on the page that the card opens.
void draw_wall(const Context& c, ImDrawList* list, ImVec2 min, ImVec2 max) {
  static const Wall wall =
      build_wall(static_cast<double>(parameter_count(model_preset("megatron-8.3b"))), "", 0);
  const double most = wall.columns.front().total();
  const float pitch = (max.x - min.x) / static_cast<float>(wall.columns.size());
  const auto height = [&](double bytes) { return static_cast<float>(bytes / most) * (max.y - min.y); };
  for (size_t i = 0; i < wall.columns.size(); ++i) {
    const float left = min.x + pitch * static_cast<float>(i);
    const double total = wall.columns[i].total();
    fill_rect(list, {left, max.y - height(total)}, {left + pitch * 0.64f, max.y},
              total <= wall.limit_bytes() ? c.theme.agreement : c.theme.forward, c.px(2));
  }
  const float line = max.y - height(wall.limit_bytes());
  draw_line(list, {min.x, line}, {max.x, line}, c.theme.text, c.px(1.5f));
}

/// The picture of a card under Try.
Picture picture_for(const Context& c, const std::string& look) {
  if (look == "stage") return picture_of(c, "layer-megatron");
  if (look == "reversed") return picture_of(c, "layer-reversed");
  if (look == "train") return picture_of(c, "training");
  if (look == "memory")
    return [&c](ImDrawList* list, ImVec2 min, ImVec2 max) { draw_wall(c, list, min, max); };
  if (look == "compare")
    return [&c](ImDrawList* list, ImVec2 min, ImVec2 max) {
      const float half = (max.x - min.x - c.px(16)) / 2;
      picture_of(c, "layer-megatron")(list, min, {min.x + half, max.y});
      picture_of(c, "layer-reversed")(list, {max.x - half, min.y}, max);
    };
  return [&c](ImDrawList* list, ImVec2 min, ImVec2 max) {  // a mistake: the last collective is left out
    if (const auto layer = c.view.of<StartView>().glimpses->of("layer-megatron"))
      draw_program_glimpse(c, list, layer->program, min, max, true);
  };
}

void draw_live(const Context& c, const Type& type) {
  draw_section_head(c, type, "Try", "on this machine, live");
  std::vector<Card> cards;
  for (const Look& look : kLooks)
    cards.push_back({.id = std::string("look:") + look.id,
                     .icon = look.icon,
                     .title = look.title,
                     .words = look.words,
                     .note = {},
                     .picture = picture_for(c, look.id)});
  const int clicked = draw_cards(c, type, cards);
  if (clicked < 0) return;
  if (c.replay.is_open()) c.send(replay_command::Close{});
  kLooks[clicked].go(c);
}

/// "GPT-2 small, one layer, T = 4, 2 × 256".
std::string facts_text(const Glimpse& glimpse) {
  const Settings& settings = glimpse.program.settings;
  return fmt::format("{}, {}, T = {}, {} × {}", settings.model.title, block_title(settings.block),
                     settings.tp, settings.batch, settings.seq);
}

void draw_gallery(const Context& c, const Type& type) {
  draw_section_head(c, type, "Gallery", "real runs, recorded; they replay anywhere");
  std::vector<Card> cards;
  for (const GalleryPiece& piece : gallery()) {
    const auto glimpse = c.view.of<StartView>().glimpses->of(piece.name);
    cards.push_back({.id = "piece:" + piece.name,
                     .icon = ICON_FA_FILM,
                     .title = piece.title,
                     .words = piece.shows,
                     .note = (glimpse ? facts_text(*glimpse) + " · " : "") +
                             (piece.file_bytes > 0 ? bytes_text(static_cast<double>(piece.file_bytes))
                                                   : std::string("beside this page")),
                     .help = "It was made by: shardlens-cli " + piece.arguments,
                     .picture = picture_of(c, piece.name)});
  }
  const int clicked = draw_cards(c, type, cards);
  if (clicked >= 0) c.send(replay_command::Open{"gallery:" + gallery()[static_cast<size_t>(clicked)].name});
}

void draw_recent(const Context& c, const Type& type) {
  const std::vector<std::string>& recent = recent_there(c);
  draw_section_head(c, type, "Recent",
                    recent.empty() ? "recordings that you make, or open from files, are listed here" : "");
  std::vector<Card> cards;
  for (const std::string& path : recent) {
    const std::filesystem::path file(path);
    cards.push_back({.id = fmt::format("recent:{}", cards.size()),
                     .icon = ICON_FA_FILE,
                     .title = file.stem().string(),
                     .words = file.parent_path().string(),
                     .note = {}});
  }
  const int clicked = draw_cards(c, type, cards);
  if (clicked >= 0) c.send(replay_command::Open{recent[static_cast<size_t>(clicked)]});
  if (draw_button(c, "start:open", "Open a recording …", ButtonLook::Plain, true,
                  "Opens a .shardlens file. You can also drop one on the window"))
    find_command("replay.open").run(c);
  ImGui::SameLine(0, c.px(8));
  command_button(c, "replay.attach", "Attach to a running job …");
}

}  // namespace

void draw_start(const Context& c) {
  const Type type(c);
  StartView& start = c.view.of<StartView>();
  if (!start.glimpses) start.glimpses = std::make_shared<GalleryGlimpses>();
  if (!start.shelf) start.shelf = std::make_shared<LessonShelf>();
  if (ImGui::GetTime() - start.looked_seconds > kLookEverySeconds) {
    start.looked_seconds = ImGui::GetTime();
    start.shelf->look();
  }
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(c.px(kPadding), c.px(kPadding)));
  ImGui::BeginChild("start page", {0, 0},
                    ImGuiChildFlags_AlwaysUseWindowPadding | ImGuiChildFlags_NavFlattened);
  ImGui::PopStyleVar();
  draw_lessons(c, type);
  draw_live(c, type);
  draw_gallery(c, type);
  draw_recent(c, type);
  ImGui::EndChild();
}

}  // namespace shardlens::ui
