// The look, in one place: the colour tokens of both themes, the four-pixel grid and the sizes that follow
// from the scale. Panels take every colour and every length from here. No other file holds a literal colour.
#pragma once

#include <imgui.h>

#include "engine/base/words.h"

namespace shardlens::ui {

enum class ThemeName { Dark, Light };
inline constexpr Word<ThemeName> kThemeWords[] = {{ThemeName::Dark, "dark"}, {ThemeName::Light, "light"}};

struct Theme {
  ThemeName name = ThemeName::Dark;
  ImU32 window, panel, card;
  ImU32 line, ghost;
  ImU32 text, dim, faint;
  ImU32 forward;  ///< also the accent
  ImU32 backward;
  ImU32 communication;  ///< only what has to do with communication: bands, Partial, transfer and waiting
  ImU32 agreement;
  ImU32 recording;         ///< the mark of a recording that is on, always with its word or number beside it
  ImU32 ranks[8];          ///< fill of rank r % 8
  ImU32 rank_outlines[8];  ///< the same, dark enough to be an outline on this theme's ground
};

const Theme& theme(ThemeName name);

/// `colour` with its opacity multiplied by `alpha` in [0, 1].
ImU32 faded(ImU32 colour, float alpha);

/// WCAG contrast ratio of two opaque colours, 1 to 21.
double contrast_ratio(ImU32 a, ImU32 b);

/// Sets Dear ImGui's own style (widgets, docking, plots) from the tokens.
void apply(const Theme& theme, float scale);

/// Fonts loaded by the platform; sizes in pixels at scale 1 are 15 (body) and 13 (small).
struct Fonts {
  ImFont* body = nullptr;    ///< Roboto, with icons merged
  ImFont* bold = nullptr;    ///< Roboto bold, for titles
  ImFont* italic = nullptr;  ///< for f and g in the gutter
  ImFont* mono = nullptr;    ///< Inconsolata, for values, shapes and equations
};
inline constexpr float kBodySize = 15.0f;
inline constexpr float kSmallSize = 13.0f;

}  // namespace shardlens::ui
