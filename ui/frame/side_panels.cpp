// Chooses the panels: see side_panels.h.
#include "ui/frame/side_panels.h"

#include "ui/frame/narrow.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/product/product_view.h"

namespace shardlens::ui {
namespace {

constexpr ImVec2 kSmallWindow{1000, 570};  // at scale 1

bool selects_steps(const ViewState& view) {
  switch (view.tab) {
    case Tab::Memory:
      return view.of<MemoryView>().this_layer;
    case Tab::Compare:
      return view.of<CompareView>().page == ComparePage::Splits;
    default:
      return true;
  }
}

/// False for pages that Setup changes nothing on.
bool follows_setup(const ViewState& view) {
  switch (view.tab) {
    case Tab::Memory:
      return !view.of<MemoryView>().this_machine;
    case Tab::Scaling:
      return view.of<ScalingView>().page != ScalingPage::Cluster;
    case Tab::Compare:
      return view.of<CompareView>().page != ComparePage::Recordings;
    default:
      return true;
  }
}

SidePanels own_panels(const ViewState& view) {
  return own_panels(view, ImGui::GetMainViewport()->Size);
}

/// In a narrow window: brings a panel to the front, or the page if it is there.
void show_or_hide(ViewState& view, Front panel) {
  view.front = view.front == panel ? Front::Page : panel;
  if (view.front == Front::Page) view.focus_tab = true;
}

}  // namespace

SidePanels needs_of(const ViewState& view) {
  if (view.tab == Tab::Program && view.of<ProgramView>().page != ProgramPage::Steps) return kNoPanels;
  SidePanels needs = names_of(view.tab).needs;
  if (!selects_steps(view)) needs.inspector = needs.timeline = false;
  if (!follows_setup(view)) needs.setup = false;
  return needs;
}

SidePanels own_panels(const ViewState& view, ImVec2 size) {
  if (is_narrow(view) || view.lecture || view.of<LessonView>().open || fills_window(view)) return kNoPanels;
  SidePanels own = needs_of(view);
  const bool small = size.x < kSmallWindow.x * view.ui_scale() || size.y < kSmallWindow.y * view.ui_scale();
  if (small && view.tab != Tab::Stage) own.inspector = own.timeline = false;
  return own;
}

SidePanels side_panels(const ViewState& view, ImVec2 size) {
  if (is_narrow(view))
    return {view.front == Front::Setup, view.front == Front::Inspector, view.front == Front::Timeline};
  const SidePanels own = own_panels(view, size);
  const SidePanels& asked = view.asked_here();
  return {.setup = own.setup ? !view.setup_hidden : asked.setup,
          .inspector = own.inspector || asked.inspector,
          .timeline = own.timeline ? !view.timeline_hidden : asked.timeline};
}

SidePanels side_panels(const ViewState& view) {
  return side_panels(view, ImGui::GetMainViewport()->Size);
}

void show_or_hide_setup(ViewState& view) {
  if (is_narrow(view)) return show_or_hide(view, Front::Setup);
  if (own_panels(view).setup)
    view.setup_hidden = !view.setup_hidden;
  else
    view.asked_here().setup = !view.asked_here().setup;
}

void show_or_hide_timeline(ViewState& view) {
  if (is_narrow(view)) return show_or_hide(view, Front::Timeline);
  if (own_panels(view).timeline)
    view.timeline_hidden = !view.timeline_hidden;
  else
    view.asked_here().timeline = !view.asked_here().timeline;
}

void widen_inspector(ViewState& view) {
  if (is_narrow(view)) return show_or_hide(view, Front::Inspector);
  const bool shown = side_panels(view).inspector;
  if (!own_panels(view).inspector && (!shown || view.wide_inspector)) view.asked_here().inspector = !shown;
  view.wide_inspector = shown && !view.wide_inspector;
}

void show_setup(ViewState& view) {
  if (!side_panels(view).setup) show_or_hide_setup(view);
}

}  // namespace shardlens::ui
