// Values of expressions in the words of answers: what a number is in a question's unit, and which text says a
// value.
#pragma once

#include <string>
#include <vector>

#include "engine/lesson/value.h"

namespace shardlens {

/// "4.5 KiB". `tolerance`: of the question. With a percent or more, three digits are enough to be right.
std::string number_text(double number, const std::string& unit, double tolerance = 0);

/// The number in a question's unit.
double in_unit(const LessonNumber& number, const std::string& unit);

/// `tolerance`: relative; 0: but for what printing loses.
bool is_close(double given, double right, double tolerance);

/// True if words say this value: as it is written, or as the same number.
bool reads_as(const Value& value, const std::string& words);

/// The texts that say a value: exactly; or else the one that rounds it least.
std::vector<size_t> texts_that_say(const Value& value, const std::vector<std::string>& texts);

}  // namespace shardlens
