// Rows of a form: a quiet label at the left, a value at the right, and something thin to drag or to choose
// from. Each row has a stable id (its label), so that a test finds it by the word a person sees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ui/context.h"

namespace shardlens::ui {

/// A slider over `stops`; the value at the right can be clicked and typed. True when `value` changed.
bool slider_row(const Context& context, const char* label, const std::vector<int64_t>& stops, int64_t& value);

/// One of `options` ("" for none of them is shown as `current`). Returns the index chosen in this frame, or
/// -1. `meaning` is the tooltip that says what is chosen.
int option_row(const Context& context, const char* label, const std::string& current,
               const std::vector<std::string>& options, const char* meaning = nullptr);

/// The value of a choice alone, right-aligned at `right`: text and a caret, with the same list. For cards.
int option_at(const Context& context, const char* id, ImVec2 right_middle, const std::string& current,
              const std::vector<std::string>& options);

/// A number or a path that is typed; true when it was changed and Enter pressed or the field left.
bool number_row(const Context& context, const char* label, uint64_t& value);
/// The same without a row of its own: of the next item's width.
bool number_field(const Context& context, const char* id, int64_t& value);
bool path_row(const Context& context, const char* label, const char* hint, std::string& path);

/// A bold heading with room above it.
void heading(const Context& context, const char* text);

}  // namespace shardlens::ui
