// What an expression of a lesson yields: a number with what it counts, a yes or no, a text, a shape, a list
// of names or an order of them. One place turns it into the words that a reader sees.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/base/shape.h"

namespace shardlens {

/// What a number counts. It decides how the number is written: 4718592 bytes are "4.50 MiB".
enum class Counts { Things, Bytes, Seconds };

struct LessonNumber {
  double value = 0;
  Counts counts = Counts::Things;
  bool operator==(const LessonNumber&) const = default;
};

using Names = std::vector<std::string>;
/// Names in order. Those of one place are equal, so no order among them is wrong.
struct Ordered {
  std::vector<Names> places;
  Names names() const;  ///< one right order
  bool operator==(const Ordered&) const = default;
};
using Value = std::variant<LessonNumber, bool, std::string, Shape, Names, Ordered>;

inline Value number_of(double value, Counts counts = Counts::Things) {
  return LessonNumber{value, counts};
}

/// "1,024", "4.50 MiB", "1.25 ms", "yes", "[768, 768]", "mlp.fc, mlp.proj"; of an order
/// "Wq = Wkv, b", where = joins what is equal.
std::string to_text(const Value& value);
/// "a number", "a yes or no", "a text", "a shape", "a list of names", "an order": for messages.
std::string kind_of(const Value& value);

}  // namespace shardlens
