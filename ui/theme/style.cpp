// Dear ImGui's and ImPlot's styles, made from a theme's tokens.
#include <implot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ui/theme/theme.h"

namespace shardlens::ui {
namespace {

ImVec4 vec(ImU32 colour) {
  return ImGui::ColorConvertU32ToFloat4(colour);
}

void colour_widgets(const Theme& theme, ImGuiStyle& style) {
  const bool dark = theme.name == ThemeName::Dark;
  const ImVec4 none(0, 0, 0, 0);
  const auto accent = [&](float alpha) { return vec(faded(theme.forward, alpha)); };
  const std::array<std::pair<int, ImVec4>, 53> colours{{
      {ImGuiCol_Text, vec(theme.text)},
      {ImGuiCol_TextDisabled, vec(theme.dim)},
      {ImGuiCol_WindowBg, vec(theme.window)},
      {ImGuiCol_ChildBg, none},
      {ImGuiCol_PopupBg, vec(theme.panel)},
      {ImGuiCol_Border, vec(theme.line)},
      {ImGuiCol_BorderShadow, none},
      {ImGuiCol_FrameBg, vec(theme.card)},
      {ImGuiCol_FrameBgHovered, vec(theme.line)},
      {ImGuiCol_FrameBgActive, vec(theme.line)},
      {ImGuiCol_TitleBg, vec(theme.panel)},
      {ImGuiCol_TitleBgActive, vec(theme.panel)},
      {ImGuiCol_TitleBgCollapsed, vec(theme.panel)},
      {ImGuiCol_MenuBarBg, vec(theme.panel)},
      {ImGuiCol_ScrollbarBg, none},
      {ImGuiCol_ScrollbarGrab, vec(theme.line)},
      {ImGuiCol_ScrollbarGrabHovered, vec(theme.faint)},
      {ImGuiCol_ScrollbarGrabActive, vec(theme.dim)},
      {ImGuiCol_CheckMark, vec(theme.forward)},
      {ImGuiCol_CheckboxSelectedBg, vec(theme.card)},
      {ImGuiCol_SliderGrab, vec(theme.forward)},
      {ImGuiCol_SliderGrabActive, vec(theme.forward)},
      {ImGuiCol_Button, vec(theme.card)},
      {ImGuiCol_ButtonHovered, vec(theme.line)},
      {ImGuiCol_ButtonActive, vec(theme.ghost)},
      {ImGuiCol_Header, accent(dark ? 0.20f : 0.14f)},
      {ImGuiCol_HeaderHovered, accent(dark ? 0.14f : 0.10f)},
      {ImGuiCol_HeaderActive, accent(0.28f)},
      {ImGuiCol_Separator, vec(theme.line)},
      {ImGuiCol_SeparatorHovered, accent(0.6f)},
      {ImGuiCol_SeparatorActive, vec(theme.forward)},
      {ImGuiCol_ResizeGrip, none},
      {ImGuiCol_ResizeGripHovered, accent(0.4f)},
      {ImGuiCol_ResizeGripActive, vec(theme.forward)},
      {ImGuiCol_InputTextCursor, vec(theme.text)},
      {ImGuiCol_TabHovered, vec(theme.card)},
      {ImGuiCol_Tab, vec(theme.panel)},
      {ImGuiCol_TabSelected, vec(theme.panel)},
      {ImGuiCol_TabSelectedOverline, none},
      {ImGuiCol_TabDimmed, vec(theme.panel)},
      {ImGuiCol_TabDimmedSelected, vec(theme.panel)},
      {ImGuiCol_TabDimmedSelectedOverline, none},
      {ImGuiCol_DockingPreview, accent(0.35f)},
      {ImGuiCol_DockingEmptyBg, vec(theme.window)},
      {ImGuiCol_TableHeaderBg, vec(theme.panel)},
      {ImGuiCol_TableBorderStrong, vec(theme.line)},
      {ImGuiCol_TableBorderLight, vec(theme.ghost)},
      {ImGuiCol_TableRowBg, none},
      {ImGuiCol_TableRowBgAlt, none},
      {ImGuiCol_TextSelectedBg, accent(0.35f)},
      {ImGuiCol_NavCursor, vec(theme.forward)},
      {ImGuiCol_NavWindowingDimBg, vec(faded(theme.window, 0.5f))},
      {ImGuiCol_ModalWindowDimBg, vec(faded(theme.window, dark ? 0.6f : 0.5f))},
  }};
  for (const auto& [index, colour] : colours) style.Colors[index] = colour;
  style.Colors[ImGuiCol_TextLink] = vec(theme.forward);
  style.Colors[ImGuiCol_PlotLines] = vec(theme.forward);
  style.Colors[ImGuiCol_PlotHistogram] = vec(theme.forward);
  style.Colors[ImGuiCol_DragDropTarget] = vec(theme.forward);
}

void style_plots(const Theme& theme, float scale) {
  if (ImPlot::GetCurrentContext() == nullptr) return;
  ImPlotStyle& plot = ImPlot::GetStyle();
  plot = ImPlotStyle();
  plot.PlotBorderSize = 0;
  plot.MinorAlpha = 1;  // every number on an axis has a grid line, round or not
  plot.PlotPadding = ImVec2(8 * scale, 8 * scale);
  plot.LabelPadding = ImVec2(8 * scale, 4 * scale);
  plot.LegendPadding = ImVec2(8 * scale, 8 * scale);
  plot.MajorTickLen = ImVec2(0, 0);
  plot.MinorTickLen = ImVec2(0, 0);
  plot.Colors[ImPlotCol_FrameBg] = ImVec4(0, 0, 0, 0);
  plot.Colors[ImPlotCol_PlotBg] = ImVec4(0, 0, 0, 0);
  plot.Colors[ImPlotCol_PlotBorder] = vec(theme.line);
  plot.Colors[ImPlotCol_LegendBg] = vec(theme.panel);
  plot.Colors[ImPlotCol_LegendBorder] = vec(theme.line);
  plot.Colors[ImPlotCol_LegendText] = vec(theme.text);
  plot.Colors[ImPlotCol_TitleText] = vec(theme.text);
  plot.Colors[ImPlotCol_InlayText] = vec(theme.text);
  plot.Colors[ImPlotCol_AxisText] = vec(theme.dim);
  plot.Colors[ImPlotCol_AxisGrid] = vec(faded(theme.line, 0.5f));
  plot.Colors[ImPlotCol_AxisTick] = vec(theme.line);
  plot.Colors[ImPlotCol_AxisBgHovered] = ImVec4(0, 0, 0, 0);
  plot.Colors[ImPlotCol_AxisBgActive] = ImVec4(0, 0, 0, 0);
  plot.Colors[ImPlotCol_Crosshairs] = vec(theme.dim);
  plot.Colors[ImPlotCol_Selection] = vec(theme.forward);
}

}  // namespace

void apply(const Theme& theme, float scale) {
  ImGuiStyle& style = ImGui::GetStyle();
  style = ImGuiStyle();
  style.FontSizeBase = kBodySize;
  style.WindowPadding = ImVec2(16, 12);
  style.FramePadding = ImVec2(8, 4);
  style.CellPadding = ImVec2(8, 4);
  style.ItemSpacing = ImVec2(8, 8);
  style.ItemInnerSpacing = ImVec2(8, 4);
  style.IndentSpacing = 16;
  style.ScrollbarSize = 10;
  style.ScrollbarPadding = 2;
  style.GrabMinSize = 12;
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 0;
  style.FrameBorderSize = 0;
  style.PopupBorderSize = 1;
  style.TabBorderSize = 0;
  style.TabBarBorderSize = 1;
  style.TabBarOverlineSize = 0;
  style.WindowRounding = 0;
  style.ChildRounding = 4;
  style.FrameRounding = 4;
  style.PopupRounding = 4;
  style.GrabRounding = 6;
  style.ScrollbarRounding = 4;
  style.TabRounding = 0;
  style.DockingSeparatorSize = 1;
  style.WindowMenuButtonPosition = ImGuiDir_None;
  style.SeparatorTextBorderSize = 1;
  style.WindowMinSize = ImVec2(32, 32);
  style.DisabledAlpha = 0.45f;
  style.HoverDelayNormal = 0.35f;
  style.ScaleAllSizes(scale);
  style.DockingSeparatorSize = std::max(1.f, std::floor(scale));  // lines stay thin but visible
  style.PopupBorderSize = 1;
  style.TabBarBorderSize = 1;
  style.FontScaleMain = scale;
  colour_widgets(theme, style);
  style_plots(theme, scale);
}

}  // namespace shardlens::ui
