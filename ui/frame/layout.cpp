// Builds the dock tree with Dear ImGui's DockBuilder.
#include "ui/frame/layout.h"

#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "ui/frame/narrow.h"
#include "ui/lesson/lesson_view.h"
#include "ui/view_state.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr int kSettlingFrames = 3;
constexpr float kNarrowCentre = 900, kNarrowestCentre = 600;
constexpr float kLeastHeight = 300;  // at scale 1; in a lower window the panels cannot keep their sizes
constexpr float kCuts = 192;  ///< Setup's width with no more than the matrices that a lesson asks about
constexpr float kMostOfTimeline = 0.305f;  // fits four ranks in lecture mode at 1280x720

/// Returns the dock node that holds `window`, or null if it floats or does not exist yet.
ImGuiDockNode* node_of(const char* window) {
  ImGuiWindow* found = ImGui::FindWindowByName(window);
  return found != nullptr ? found->DockNode : nullptr;
}

void set_size(const char* window, ImGuiAxis axis, float length) {
  if (ImGuiDockNode* node = node_of(window)) {
    ImVec2 size = node->Size;
    size[axis] = length;
    ImGui::DockBuilderSetNodeSize(node->ID, size);
  }
}

bool has_size(const char* window, ImGuiAxis axis, float length) {
  const ImGuiDockNode* node = node_of(window);
  return node != nullptr && std::abs(node->Size[axis] - length) < 2.0f;
}

/// True if the centre holds all its tabs and no other panel, in the dock space and in their first order.
bool has_all_tabs(ImGuiID root) {
  const ImGuiDockNode* centre = node_of("Stage");
  if (centre == nullptr || centre->TabBar == nullptr || centre->Windows.Size != std::ssize(kTabs))
    return false;
  if (ImGui::DockNodeGetRootNode(const_cast<ImGuiDockNode*>(centre))->ID != root) return false;
  return std::equal(std::begin(kTabs), std::end(kTabs), centre->TabBar->Tabs.begin(),
                    centre->TabBar->Tabs.end(), [](const TabNames& names, const ImGuiTabItem& tab) {
                      return tab.Window != nullptr && names.window == std::string_view(tab.Window->Name);
                    });
}

void for_each_leaf(ImGuiDockNode* node, const auto& visit) {
  if (node == nullptr) return;
  if (node->IsLeafNode()) {
    visit(*node);
    return;
  }
  for_each_leaf(node->ChildNodes[0], visit);
  for_each_leaf(node->ChildNodes[1], visit);
}

bool holds_a_panel(ImGuiID root) {
  bool found = false;
  for_each_leaf(ImGui::DockBuilderGetNode(root),
                [&](ImGuiDockNode& node) { found |= !node.Windows.empty(); });
  return found;
}

/// False where the row of tabs has no height. In front of a class the lesson opens the tabs, and keys and the
/// palette do; in a narrow window there is a row of panels.
bool has_row_of_tabs(const ViewState& view) {
  return !is_class(view) && !is_narrow(view);
}

}  // namespace

PanelSizes panel_sizes(ImVec2 size, float scale, bool wide_inspector) {
  const PanelSizes full;
  // Wide enough to read, no wider than the full measure, and never more than a part of the window.
  const auto side = [&](float measure, float least, float share, float most) {
    return std::floor(std::min(within(size.x * share, least * scale, measure * scale), size.x * most));
  };
  return {.setup = side(full.setup, 236, 0.20f, 0.30f),
          .inspector = wide_inspector ? std::floor(size.x / 2) : side(full.inspector, 240, 0.24f, 0.34f),
          .timeline = std::floor(std::min(full.timeline * scale, size.y * kMostOfTimeline))};
}

/// Scrolls the tab bar to the open tab when another tab was opened or the bar's width has changed. Dear ImGui
/// does this when a tab is clicked, but not when its window is brought to the front.
void DockTree::show_open_tab(ImGuiTabBar& bar, float margin) {
  const float width = bar.BarRect.GetWidth();
  if (bar.VisibleTabId == open_tab_ && width == tabs_width_) return;
  open_tab_ = bar.VisibleTabId;
  tabs_width_ = width;
  for (const ImGuiTabItem& tab : bar.Tabs) {
    if (tab.ID != bar.VisibleTabId) continue;
    const float most = std::max(0.0f, bar.WidthAllTabs - width);
    const float last = tab.Offset - margin, first = tab.Offset + tab.Width + margin - width;
    const float scroll = within(bar.ScrollingTarget, std::min(first, last), last);
    bar.ScrollingTarget = within(scroll, 0.0f, most);
  }
}

ImVec2 tab_padding(const Context& context) {
  if (!has_row_of_tabs(context.view)) return {0, -ImGui::GetFontSize() / 2};
  // Less padding in a narrow centre, so that all tabs fit side by side.
  const ImGuiDockNode* centre = node_of("Stage");
  const float width = centre != nullptr ? centre->Size.x : ImGui::GetMainViewport()->Size.x;
  const float beside_a_name = width < context.px(kNarrowestCentre) ? 6
                              : width < context.px(kNarrowCentre)  ? 10
                                                                   : 16;
  return {context.px(beside_a_name), context.px(11)};
}

void DockTree::restore(const std::string& ini) {
  if (ini.empty()) return;
  ImGui::LoadIniSettingsFromMemory(ini.data(), ini.size());
  wanted_ = false;
  untouched_ = false;
  restored_frames_ = kSettlingFrames;
  before_ = ini;
}

/// Uses the first layout if the restored one has no panel or no centre left, and widens panels that are too
/// narrow to show anything.
void DockTree::check_restored(const Context& context) {
  const float least = context.px(kLeastPanel);
  const ImGuiDockNode* centre = node_of("Stage");
  const bool has_centre = centre == nullptr || (centre->Size.x >= least && centre->Size.y >= least);
  wanted_ = !holds_a_panel(root_) || !has_centre;
  for (const auto& [panel, axis] :
       {std::pair{"Setup", ImGuiAxis_X}, {"Inspector", ImGuiAxis_X}, {"Timeline", ImGuiAxis_Y}})
    if (const ImGuiDockNode* node = node_of(panel); node != nullptr && node->Size[axis] < least)
      set_size(panel, axis, least);
}

std::string DockTree::remembered() const {
  if (squeezed_) return before_;
  if (untouched_) return {};
  size_t length = 0;
  const char* text = ImGui::SaveIniSettingsToMemory(&length);
  return {text, length};
}

void DockTree::build(ImVec2 size, const PanelSizes& sizes) {
  assigned_ = sizes;
  ImGui::DockBuilderRemoveNode(root_);
  ImGui::DockBuilderAddNode(root_, static_cast<int>(ImGuiDockNodeFlags_DockSpace) |
                                       static_cast<int>(ImGuiDockNodeFlags_AutoHideTabBar));
  ImGui::DockBuilderSetNodeSize(root_, size);
  ImGuiID rest = root_;
  const ImGuiID setup =
      ImGui::DockBuilderSplitNode(rest, ImGuiDir_Left, assigned_.setup / size.x, nullptr, &rest);
  const ImGuiID timeline =
      ImGui::DockBuilderSplitNode(rest, ImGuiDir_Down, assigned_.timeline / size.y, nullptr, &rest);
  const ImGuiID inspector = ImGui::DockBuilderSplitNode(
      rest, ImGuiDir_Right, assigned_.inspector / (size.x - assigned_.setup), nullptr, &rest);
  ImGui::DockBuilderDockWindow("Setup", setup);
  ImGui::DockBuilderDockWindow("Timeline", timeline);
  ImGui::DockBuilderDockWindow("Inspector", inspector);
  for (const TabNames& tab : kTabs) ImGui::DockBuilderDockWindow(tab.window, rest);
  ImGui::DockBuilderFinish(root_);
  settling_frames_ = kSettlingFrames;
  untouched_ = true;
}

/// Resizes the side panels when the window or the scale has changed. If a person has moved a border or a
/// panel, it changes nothing any more.
void DockTree::follow(const PanelSizes& sizes, const SidePanels& shown) {
  if (!untouched_) return;
  if (!(sizes == assigned_) || !(shown == shown_)) {
    assigned_ = sizes;
    shown_ = shown;
    settling_frames_ = kSettlingFrames;
  }
  if (settling_frames_ > 0) {
    --settling_frames_;
    set_size("Setup", ImGuiAxis_X, assigned_.setup);
    set_size("Inspector", ImGuiAxis_X, assigned_.inspector);
    set_size("Timeline", ImGuiAxis_Y, assigned_.timeline);
    return;
  }
  untouched_ = has_all_tabs(root_) && (!shown_.setup || has_size("Setup", ImGuiAxis_X, assigned_.setup)) &&
               (!shown_.inspector || has_size("Inspector", ImGuiAxis_X, assigned_.inspector)) &&
               (!shown_.timeline || has_size("Timeline", ImGuiAxis_Y, assigned_.timeline));
}

/// One place for all panels: tabs whose row has no height.
void DockTree::build_narrow(ImVec2 size) {
  ImGui::DockBuilderRemoveNode(root_);
  ImGui::DockBuilderAddNode(root_, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodeSize(root_, size);
  for (const char* panel : {"Setup", "Timeline", "Inspector"}) ImGui::DockBuilderDockWindow(panel, root_);
  for (const TabNames& tab : kTabs) ImGui::DockBuilderDockWindow(tab.window, root_);
  ImGui::DockBuilderFinish(root_);
}

/// Keeps the layout while the window is too small for it. Before the dock space is opened.
void DockTree::choose_form(const Context& context) {
  const bool narrow = is_narrow(context.view);
  const bool squeezed = narrow || ImGui::GetMainViewport()->Size.y < context.px(kLeastHeight);
  if (squeezed && !squeezed_ && restored_frames_ == 0) before_ = remembered();
  squeezed_ = squeezed;
  if (narrow == std::exchange(narrow_, narrow)) return;
  wanted_ = true;
  if (!narrow) restore(before_);
}

void DockTree::begin(const Context& context, float top, float bottom, float left) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 position{viewport.Pos.x + left, viewport.Pos.y + top};
  const ImVec2 size{std::max(1.f, viewport.Size.x - left), std::max(1.f, viewport.Size.y - top - bottom)};
  choose_form(context);
  ImGui::SetNextWindowPos(position);
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::Begin("##dock host", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNavFocus |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  root_ = ImGui::GetID("panels");
  PanelSizes sizes = panel_sizes(viewport.Size, context.view.ui_scale(), context.view.wide_inspector);
  if (is_class(context.view) && asks_for_a_cut(context))  // Setup has the cuts alone
    sizes.setup = std::min(sizes.setup, std::floor(context.px(kCuts)));
  if (!squeezed_ && restored_frames_ > 0 && --restored_frames_ == 0) check_restored(context);
  if (std::exchange(wanted_, false)) {
    if (narrow_)
      build_narrow(size);
    else
      build(size, sizes);
  } else if (!squeezed_) {
    follow(sizes, side_panels(context.view, viewport.Size));
  }
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, tab_padding(context));
  ImGui::DockSpace(root_, ImVec2(0, 0), ImGuiDockNodeFlags_AutoHideTabBar);
  ImGui::PopStyleVar();
  ImGui::End();
}

bool DockTree::end(const Context& context, const std::string& hint, bool is_news) {
  bool written = false;
  const bool bar_is_hidden = !has_row_of_tabs(context.view);
  const ImGuiDockNode* centre = node_of("Stage");
  for_each_leaf(ImGui::DockBuilderGetNode(root_), [&](ImGuiDockNode& node) {
    if (node.TabBar == nullptr || !node.IsVisible || node.HostWindow == nullptr || node.IsHiddenTabBar())
      return;
    if (bar_is_hidden) return;
    // A click on the corner of a panel without tabs opens its tab, so that it can be dragged. Nothing else
    // closes the tab again, so this does.
    const ImRect panel(node.Pos, {node.Pos.x + node.Size.x, node.Pos.y + node.Size.y});
    if (node.Windows.Size == 1 && !panel.Contains(ImGui::GetMousePos()) &&
        !ImGui::IsMouseDown(ImGuiMouseButton_Left))
      node.WantHiddenTabBarToggle = true;
    ImDrawList* list = node.HostWindow->DrawList;
    const ImRect bar = node.TabBar->BarRect;
    list->PushClipRect(node.Pos, {node.Pos.x + node.Size.x, node.Pos.y + node.Size.y});
    const float thickness = std::round(context.px(3));
    float end_of_tabs = bar.Min.x;
    if (&node == centre) show_open_tab(*node.TabBar, context.px(24));
    node.TabBar->ScrollingAnim =
        node.TabBar->ScrollingTarget;  // no animation: the open tab is visible at once
    for (const ImGuiTabItem& tab : node.TabBar->Tabs) {
      const float left = bar.Min.x + tab.Offset - node.TabBar->ScrollingAnim;
      end_of_tabs = std::max(end_of_tabs, left + tab.Width);
      if (tab.ID != node.TabBar->VisibleTabId) continue;
      fill_rect(list, {left + context.px(8), bar.Max.y - thickness},
                {left + tab.Width - context.px(8), bar.Max.y}, context.theme.forward);
    }
    const TextStyle small{context.fonts.body, context.px(kSmallSize),
                          is_news ? context.theme.text : context.theme.dim};
    const float right = node.Pos.x + node.Size.x - context.px(16);
    const auto fits = [&](const std::string& words) {
      return end_of_tabs + context.px(24) + text_width(small, words) < right;
    };
    std::string words = hint;  // a hint loses its last parts first
    constexpr const char* kBetweenParts = " \u00B7 ";
    while (!is_news && !fits(words) && words.find(kBetweenParts) != std::string::npos)
      words.resize(words.rfind(kBetweenParts));
    if (&node == centre && !words.empty() && fits(words)) {
      draw_text(list, {right, (bar.Min.y + bar.Max.y - small.size) / 2}, small, words, Align::Right);
      written = true;
    }
    list->PopClipRect();
  });
  return written;
}

}  // namespace shardlens::ui
