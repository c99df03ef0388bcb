// Both colour tables of the look, and Dear ImGui's and ImPlot's styles made from them. The idea: the tokens
// are the only literal colours in the studio, so a theme is a table and switching it is one assignment.
#include "ui/theme/theme.h"

#include <implot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace shardlens::ui {
namespace {

/// 0xRRGGBB as people write it, to Dear ImGui's opaque packed colour.
constexpr ImU32 rgb(uint32_t hex) {
  return IM_COL32((hex >> 16) & 0xFF, (hex >> 8) & 0xFF, hex & 0xFF, 0xFF);
}

constexpr Theme kDark{
    .name = ThemeName::Dark,
    .window = rgb(0x0D1117),
    .panel = rgb(0x141A22),
    .card = rgb(0x1B232D),
    .line = rgb(0x2B3644),
    .ghost = rgb(0x232D39),
    .text = rgb(0xE8EDF3),
    .dim = rgb(0x8B98A8),
    .faint = rgb(0x5A6675),
    .forward = rgb(0x5AA9FF),
    .backward = rgb(0xB79BFF),
    .communication = rgb(0xF2A93B),
    .agreement = rgb(0x4CC9B0),
    .recording = rgb(0xFF6B6B),
    .ranks = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x2FBF8F), rgb(0xE08BC0), rgb(0x7A8CFF), rgb(0xD9672B),
              rgb(0xD6CF3A), rgb(0x9AA7B4)},
    .rank_outlines = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x2FBF8F), rgb(0xE08BC0), rgb(0x7A8CFF),
                      rgb(0xD9672B), rgb(0xD6CF3A), rgb(0x9AA7B4)},
};

// Communication is a shade darker here than in the sketches' table (#B36200): the word "Partial" in it must
// be readable on a card from the last row, 4.5 : 1.
constexpr Theme kLight{
    .name = ThemeName::Light,
    .window = rgb(0xF4F6F9),
    .panel = rgb(0xFFFFFF),
    .card = rgb(0xEEF2F6),
    .line = rgb(0xC5CFDA),
    .ghost = rgb(0xE3E8EE),
    .text = rgb(0x0B1420),
    .dim = rgb(0x43505F),
    .faint = rgb(0x7C8896),
    .forward = rgb(0x0B62C4),
    .backward = rgb(0x6A3FC8),
    .communication = rgb(0xA65B00),
    .agreement = rgb(0x00796B),
    .recording = rgb(0xC22A2A),
    .ranks = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x2FBF8F), rgb(0xE08BC0), rgb(0x7A8CFF), rgb(0xD9672B),
              rgb(0xD6CF3A), rgb(0x9AA7B4)},
    .rank_outlines = {rgb(0x1F7FB8), rgb(0xA87400), rgb(0x14805E), rgb(0xB04A88), rgb(0x4656D8),
                      rgb(0xAD4A16), rgb(0x857F00), rgb(0x5F6D7B)},
};

/// WCAG relative luminance, 0 to 1.
double luminance(ImU32 colour) {
  const auto linear = [&](int shift) {
    const double channel = ((colour >> shift) & 0xFF) / 255.0;
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(IM_COL32_R_SHIFT) + 0.7152 * linear(IM_COL32_G_SHIFT) +
         0.0722 * linear(IM_COL32_B_SHIFT);
}

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
  plot.MinorAlpha = 1;  // a figure on an axis has its line, whether it is a round one or not
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

const Theme& theme(ThemeName name) {
  return name == ThemeName::Dark ? kDark : kLight;
}

ImU32 faded(ImU32 colour, float alpha) {
  const float opacity = static_cast<float>((colour >> IM_COL32_A_SHIFT) & 0xFF) * std::clamp(alpha, 0.f, 1.f);
  return (colour & ~IM_COL32_A_MASK) | (static_cast<ImU32>(std::lround(opacity)) << IM_COL32_A_SHIFT);
}

double contrast_ratio(ImU32 a, ImU32 b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

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
  style.DockingSeparatorSize = std::max(1.f, std::floor(scale));  // lines stay thin, and never vanish
  style.PopupBorderSize = 1;
  style.TabBarBorderSize = 1;
  style.FontScaleMain = scale;
  colour_widgets(theme, style);
  style_plots(theme, scale);
}

}  // namespace shardlens::ui
