// Reads whole numbers as people type them and as the studio writes them: "1024", "1,024", "1 024", "1e3". Any
// other text is refused with a message; a number at the beginning of a longer text is never taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardlens::ui {

/// Returns nothing if the text is not a whole number, or does not fit into T. T: int64_t or uint64_t.
template <class T>
std::optional<T> typed_number(std::string_view text);
extern template std::optional<int64_t> typed_number(std::string_view text);
extern template std::optional<uint64_t> typed_number(std::string_view text);

/// Returns the message for a text that was refused.
std::string not_typed(std::string_view text, bool may_be_negative);

}  // namespace shardlens::ui
