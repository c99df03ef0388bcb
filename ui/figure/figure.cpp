// Draws the page of a figure: a caption with the settings and the source of the numbers, and below it the
// panel.
#include "ui/figure/figure.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <implot.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/config/hardware.h"
#include "engine/io/atomic_file.h"
#include "engine/runtime/recordings/history_reader.h"
#include "ui/panels/panels.h"
#include "ui/panels/timeline/history.h"
#include "ui/panels/timeline/timeline.h"
#include "ui/plan/shown_plan.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui {
namespace {

constexpr float kPixels = 2;  // pixels of the tape in a point, because panels use whole pixels
constexpr float kFirstHeight = 540, kFirstStretch = 180;
constexpr float kPadding = 12, kCaption = 44;
constexpr float kTrackPitch = 36, kAxis = 24, kPassAxis = 42;  // lengths of the Timeline with enough room
constexpr int kMostFrames = 8;

/// A second Dear ImGui context with the same fonts as the window's. It is the current one while the object
/// exists.
class Paper {
 public:
  explicit Paper(const Fonts& fonts)
      : screen_(ImGui::GetCurrentContext()),
        plots_(ImPlot::GetCurrentContext()),
        paper_(ImGui::CreateContext(ImGui::GetIO().Fonts)) {
    ImGui::SetCurrentContext(paper_);
    ImPlot::SetCurrentContext(nullptr);
    ImGuiIO& io = ImGui::GetIO();
    io.UserData = &tape_;
    io.IniFilename = nullptr;
    io.FontDefault = fonts.body;
    io.DeltaTime = 1.0F / 60;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;  // as the fonts' textures are
  }
  ~Paper() {
    ImGui::SetCurrentContext(screen_);
    ImPlot::SetCurrentContext(plots_);
    ImGui::DestroyContext(paper_);
  }
  Paper(const Paper&) = delete;
  Paper& operator=(const Paper&) = delete;

  Tape& tape() { return tape_; }

 private:
  ImGuiContext* screen_;
  ImPlotContext* plots_;
  ImGuiContext* paper_;
  Tape tape_;
};

/// Returns how much taller the page must be so that nothing is scrolled away.
float missing_height() {
  float missing = 0;
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->WasActive || window->Active) missing = std::max(missing, window->ScrollMax.y);
  return missing;
}

void draw_caption(const Context& context, FigureKind kind, const Plan& plan, float width) {
  const Theme& theme = context.theme;
  const TextStyle title{context.fonts.bold, context.px(kBodySize), theme.text};
  const TextStyle note{context.fonts.body, context.px(kSmallSize), theme.dim};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, at, title, fitted(title, title_of(plan.program.settings), width));
  const std::string provenance = fitted(note, provenance_of(context.snapshot, plan), width);
  draw_text(list, {at.x, at.y + context.px(20)}, note, provenance);
  if (kind != FigureKind::Stage)
    draw_legend(context, plan.program, at.x + text_width(note, provenance) + context.px(24), at.x + width,
                at.y + context.px(20) + note.size / 2);
  ImGui::Dummy({width, context.px(kCaption)});
}

void draw_page(const Context& context, const FigureWish& wish, const Plan& plan, ImVec2 size) {
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(kPadding), context.px(kPadding)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::Begin("figure", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
  if (wish.caption) draw_caption(context, wish.kind, plan, size.x - 2 * context.px(kPadding));
  switch (wish.kind) {
    case FigureKind::Stage:
      draw_stage(context);
      break;
    case FigureKind::Timeline:
      draw_tracks(context, tracks_of(context.snapshot));
      break;
    case FigureKind::Recording:
      draw_history_tracks(context);
      break;
  }
  ImGui::End();
  ImGui::PopStyleVar(2);
}

float first_height(const FigureWish& wish, const Context& context) {
  const FigureKind kind = wish.kind;
  if (kind == FigureKind::Stage) return wish.only ? kFirstStretch : kFirstHeight;
  const bool whole = kind == FigureKind::Recording;
  const auto ranks = whole ? static_cast<float>(context.history.ranks)
                           : static_cast<float>(tracks_of(context.snapshot).ranks().size());
  return 2 * kPadding + kCaption + (whole ? kPassAxis : kAxis) + kTrackPitch * std::max(1.0f, ranks);
}

}  // namespace

std::string title_of(const Settings& settings) {
  std::string part = settings.block == Block::Model ? "whole model" : to_string(settings.block);
  if (settings.block != Block::Model) part += fmt::format(" {}", settings.layer);
  std::string ranks = fmt::format("T = {}", settings.tp);
  if (settings.dp > 1) ranks += fmt::format(", D = {}", settings.dp);
  return fmt::format("{}, {}  ·  {}  ·  split {}  ·  {}  ·  batch {} × sequence {}", settings.model.title,
                     part, ranks, settings.split.name, to_string(settings.dtype), settings.batch,
                     settings.seq);
}

std::string provenance_of(const Snapshot& snapshot, const Plan& plan) {
  if (const std::shared_ptr<const Result> result = shown_result(snapshot))
    return result->replayed ? result->provenance  // which names the machine
                            : fmt::format("{} on {}", result->provenance, result->machine);
  return fmt::format("estimated on {}, not run", find_hardware(plan.program.settings.hardware).title);
}

Figure draw_figure(const Context& context, const FigureWish& wish) {
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  if (!plan) throw request_error("there is no plan to draw yet: wait until the settings are planned");
  if (wish.kind == FigureKind::Timeline && tracks_of(context.snapshot).seconds <= 0)
    throw request_error(
        "there are no times to draw: run the Program, or calibrate this machine to predict its times");
  const bool recorded = shows_history(context) && context.history.whole && context.history.passes > 0;
  if (wish.kind == FigureKind::Recording && !recorded)
    throw request_error("there is no recording to draw: open one that holds at least one pass");

  ViewState view = context.view;
  view.scale = kPixels;
  view.screen_scale = 1;
  view.close_covers();
  view.lecture = view.scroll_to_selection = false;
  view.stage_zoom = 1;
  view.of<StageView>().fitted = wish.size.has_value();
  view.of<StageView>().only = wish.only;
  Theme inks = theme(wish.theme);
  if (inks.name == ThemeName::Light) inks.window = inks.panel;  // paper, and most slides, are white
  // A Timeline figure shows the whole run, without the window's position and selection.
  Snapshot shown = context.snapshot;
  if (wish.kind == FigureKind::Timeline) {
    view.selected_step = -1;
    shown.position = 0;
  }
  const Context looking = context.of(shown, view);
  const Context paper_context = looking.with(view, inks);
  ImVec2 size(static_cast<float>(wish.width) * kPixels, first_height(wish, context) * kPixels);
  if (wish.size)
    size = {kPixels * static_cast<float>(wish.size->width), kPixels * static_cast<float>(wish.size->height)};

  Paper paper(context.fonts);
  apply(inks, kPixels);
  for (int frame = 0; frame < kMostFrames; ++frame) {
    paper.tape().clear();
    ImGui::GetIO().DisplaySize = size;
    ImGui::NewFrame();
    draw_page(paper_context, wish, *plan, size);
    const float missing = missing_height();
    ImGui::Render();
    if (wish.size || missing <= 0) {
      if (frame >= 2) break;
      continue;
    }
    size.y += missing;
  }
  return {paper.tape(),
          {size, kPixels, inks.window, title_of(plan->program.settings)},
          ImGui::GetDrawData()->TotalVtxCount};
}

void write_figure(const Context& context, const FigureWish& wish, const std::filesystem::path& path) {
  const std::string ending = path.extension();
  if (ending != ".svg" && ending != ".pdf")
    throw request_error(fmt::format(
        "{}: a figure's name must end in .svg or .pdf; for pixels use --screenshot", path.string()));
  const Figure figure = draw_figure(context, wish);
  write_file_atomically(path.string(), kVectorFile,
                        ending == ".svg" ? to_svg(figure.tape, figure.page, context.fonts)
                                         : to_pdf(figure.tape, figure.page, context.fonts));
}

}  // namespace shardlens::ui
