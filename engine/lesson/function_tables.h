// The rows of the table of functions, by what they read. functions.cpp puts them together.
#pragma once

#include <optional>

#include "engine/lesson/functions.h"

namespace shardlens {

std::span<const Function> functions_of_plans();
std::span<const Function> functions_of_models();
std::span<const Function> functions_of_runs();
std::span<const Function> functions_of_laboratory();

inline Value things(int64_t number) {
  return number_of(static_cast<double>(number));
}
inline Value bytes_of(double bytes) {
  return number_of(bytes, Counts::Bytes);
}

/// The phase that an argument names; none if there is no such argument.
inline std::optional<Phase> phase_in(const Arguments& arguments, size_t at) {
  return arguments.count() > at ? std::make_optional(parse_phase(arguments.text(at))) : std::nullopt;
}

}  // namespace shardlens
