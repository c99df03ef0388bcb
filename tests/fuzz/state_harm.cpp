// Damage to the studio's state file: to its JSON, or to the layout in it, in its lines and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tests/fuzz/file_harm.h"

namespace shardlens::fuzz {
namespace {

// The names of nodes, and numbers that stand at a limit of a screen or of what reads them.
constexpr std::array kLayoutNumbers{"0",          "1",          "-1",         "6",          "32767",
                                    "32768",      "2147483647", "4294967296", "1e9",        "nan",
                                    "0x00000001", "0x00000002", "0x00000003", "0x00000006", "0xB7A3AAE6",
                                    "0xFFFFFFFF", "",           " "};

// What stands behind one of its signs, up to the next.
std::string harm_number(std::string layout, Random& random, std::string& done) {
  const size_t sign = layout.find_first_of("=,", below(random, layout.size() + 1));
  if (sign == std::string::npos) return harm_lines(std::move(layout), random, done);
  const size_t end = std::min(layout.find_first_of(" ,\n", sign + 1), layout.size());
  const std::string number = one_of(random, kLayoutNumbers);
  done += fmt::format("{} for {}", number, layout.substr(sign + 1, end - sign - 1));
  return layout.replace(sign + 1, end - sign - 1, number);
}

}  // namespace

std::string harm_state(std::string text, Random& random, std::string& done) {
  if (is_nested_deeply(text) || below(random, 2) == 0) return harm_json(std::move(text), random, done);
  nlohmann::ordered_json state = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!state.is_object() || !state.contains("layout") || !state["layout"].is_string())
    return harm_json(std::move(text), random, done);
  done += "in the layout ";
  auto layout = state["layout"].get<std::string>();
  const bool in_number = below(random, 3) > 0;
  layout =
      in_number ? harm_number(std::move(layout), random, done) : harm_lines(std::move(layout), random, done);
  state["layout"] = layout;
  return state.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::ignore);
}

}  // namespace shardlens::fuzz
