// The parts of the Train tab: the choices at the left, the measurements at the right.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ui/panels/parts.h"
#include "ui/widgets/form.h"

namespace shardlens::ui {

/// Draws a row with a choice of a few values, each shown as `text(value)`. Returns true if another one was
/// chosen. `meaning` is the tooltip that says what is chosen.
template <typename T, size_t N, typename Text>
bool value_row(const Context& context, const char* label, const std::array<T, N>& values, T& value,
               const Text& text, const char* meaning = nullptr) {
  std::vector<std::string> options;
  for (const T& option : values) options.push_back(text(option));
  const int chosen = option_row(context, label, text(value), options, meaning);
  if (chosen >= 0) value = values[static_cast<size_t>(chosen)];
  return chosen >= 0;
}

/// Draws the choices of one model or of the comparison, as rows of a form in the current window, and changes
/// them.
void draw_train_form(const Context& context);

/// Draws what Start would do, and an example, before anything has been trained (train_before.cpp).
void draw_before_training(const Context& context, ImVec2 min, ImVec2 room);

/// Draws the curves of the training, in `room` pixels from `min`: loss, and in fp16 the loss scale beside it;
/// below them speed and the gradients' norms. The page scrolls if `room` is low.
void draw_train_plots(const Context& context, ImVec2 min, ImVec2 room);

/// Draws the form for a text and the texts that the models wrote with the weights of their steps, newest
/// first, in `size` pixels from `min`.
void draw_train_text(const Context& context, ImVec2 min, ImVec2 size);

/// The colour of a curve of a comparison, or of the only one there is.
ImU32 curve_colour(const Theme& theme, size_t curve);

}  // namespace shardlens::ui
