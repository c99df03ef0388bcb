// Rows of a form: a dim label at the left, a value at the right, and a slider or a list. Each row's id is its
// label, so that tests find it by the text on the screen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ui/context.h"

namespace shardlens::ui {

/// Draws a slider over `stops`; the value at the right can be clicked and typed. Returns true if `value`
/// changed.
bool slider_row(const Context& context, const char* label, const std::vector<int64_t>& stops, int64_t& value);

/// Draws a choice of one of `options`; `current` is shown as its value. Returns the index chosen in this
/// frame, or -1. `meaning` is a tooltip that explains the choice.
int option_row(const Context& context, const char* label, const std::string& current,
               const std::vector<std::string>& options, const char* meaning = nullptr);

/// Draws only the value of a choice, right-aligned at `right_middle`: text and a caret, with the same list.
/// For cards.
int option_at(const Context& context, const char* id, ImVec2 right_middle, const std::string& current,
              const std::vector<std::string>& options);

/// Draws a field for a number or a path. Returns true if it was changed and Enter was pressed or the field
/// was left.
bool number_row(const Context& context, const char* label, uint64_t& value);
/// The same without a row, with the next item's width.
bool number_field(const Context& context, const char* id, int64_t& value);
bool path_row(const Context& context, const char* label, const char* hint, std::string& path);

/// A bold heading with room above it.
void heading(const Context& context, const char* text);

}  // namespace shardlens::ui
