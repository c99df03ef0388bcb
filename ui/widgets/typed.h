// Whole numbers as people type them, and as the studio writes them: "1024", "1,024", "1 024", "1e3". What is
// no such number is refused in words; half of it is never taken for the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardlens::ui {

/// Nothing for what is no whole number, or one that T cannot hold. T: int64_t or uint64_t.
template <class T>
std::optional<T> typed_number(std::string_view text);
extern template std::optional<int64_t> typed_number(std::string_view text);
extern template std::optional<uint64_t> typed_number(std::string_view text);

/// What is said of one that was refused.
std::string not_typed(std::string_view text, bool may_be_negative);

}  // namespace shardlens::ui
