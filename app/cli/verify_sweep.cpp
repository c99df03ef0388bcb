// Prints the table of a sweep, one row as soon as its degree T is done.
#include "app/cli/verify_sweep.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "app/cli/coverage.h"
#include "app/cli/or_null.h"
#include "app/cli/table.h"
#include "app/command_line/help.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/runtime/measure/sweep.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const SweepPoint& p) {
  ordered_json json = {{"tp", p.tp}};
  if (!p.refused.empty()) json["refused"] = p.refused;
  if (p.planned()) {
    json["weight_bytes_per_rank"] = p.weight_bytes;
    json["ideal_weight_bytes_per_rank"] = p.ideal_weight_bytes;
    json["replicated_weight_bytes"] = p.replicated_weight_bytes;
    json["collectives_per_layer"] = {{"forward", p.forward_collectives},
                                     {"backward", p.backward_collectives}};
    json["sent_bytes_per_rank"] = p.sent_bytes;
    json["predicted_seconds"] = or_null(p.predicted_seconds, p.predicted_seconds > 0);
  }
  if (p.measured) {
    json["measured_weight_bytes_per_rank"] = p.measured_weight_bytes;
    json["agrees"] = p.agrees;
    json["worst_relative_error"] = p.worst_relative_error;
    json["bound"] = p.bound;
    json["worst_tensor"] = p.worst_tensor;
    if (!p.first_broken.empty()) json["first_broken"] = p.first_broken;
    json["measured_seconds"] = p.measured_seconds;
    add_coverage(json, p.coverage);
  }
  return json;
}

ordered_json to_json(const Sweep& sweep) {
  const Settings& s = sweep.settings;
  ordered_json points = ordered_json::array();
  for (const SweepPoint& point : sweep.points) points.push_back(to_json(point));
  return {{"agrees", sweep.agrees()},
          {"model", s.model.name},
          {"block", to_string(s.block)},
          {"split", s.split.name},
          {"dtype", to_string(s.dtype)},
          {"batch", s.batch},
          {"seq", s.seq},
          {"predicted_on", sweep.predicted_on},
          {"measured_on", sweep.measured_on},
          {"points", points}};
}

std::string bytes(int64_t count) {
  return bytes_text(static_cast<double>(count));
}

std::string milliseconds(double seconds) {
  return seconds > 0 ? fmt::format("{:.2f} ms", seconds * 1e3) : "not known";
}

void print_head(const Sweep& sweep) {
  const Settings& s = sweep.settings;
  fmt::print("{} · {} · split {} · {} · batch {} × sequence {} · every T against T = 1\n\n", s.model.title,
             s.block == Block::Model ? "whole model" : "one " + to_string(s.block), s.split.name,
             to_string(s.dtype), s.batch, s.seq);
  fmt::print("{:>3} {:>9} {:>9} {:>8} {:>10} {:>11} {:>9} {:>8} {:>5} {:>9} {:>9}\n", "", "weights", "",
             "ideal", "of them", "a layer's", "each rank", "worst", "", "step", "step");
  fmt::print("{:>3} {:>9} {:>9} {:>8} {:>10} {:>11} {:>9} {:>8} {:>5} {:>9} {:>9}\n", "T", "planned",
             "measured", "1/T", "replicated", "collectives", "sends", "error", "bound", "predicted",
             "measured");
}

void print_row(const SweepPoint& p) {
  if (!p.planned()) {
    fmt::print("{:>3} {}\n", p.tp, p.refused);
    return;
  }
  fmt::print("{:>3} {:>9} {:>9} {:>8} {:>10} {:>11} {:>9} ", p.tp, bytes(p.weight_bytes),
             p.measured ? bytes(p.measured_weight_bytes) : "", bytes_text(p.ideal_weight_bytes),
             p.tp == 1 ? "" : bytes(p.replicated_weight_bytes),
             fmt::format("{} + {}", p.forward_collectives, p.backward_collectives), bytes(p.sent_bytes));
  if (p.measured) {
    fmt::print("{:>8.2e} {:>5.0e} {:>9} {:>9}{}\n", p.worst_relative_error, p.bound,
               milliseconds(p.predicted_seconds), milliseconds(p.measured_seconds),
               p.agrees ? "" : "  BROKEN");
  } else {
    fmt::print("{:>8} {:>5} {:>9} {}\n", "", "", milliseconds(p.predicted_seconds), p.refused);
  }
}

// What was compared at every T, and what was left out.
void print_coverage(const Sweep& sweep) {
  fmt::print("\n  T compared; left out\n");
  for (const SweepPoint& p : sweep.points) {
    if (!p.measured) continue;
    std::string words = compared_words(p.coverage);
    for (const LeftOutGroup& group : p.coverage.left_out)
      words += fmt::format("; {} {}", group.tensors.size(), to_string(group.reason));
    print_hanging(fmt::format("{:>3} ", p.tp), words);
  }
}

// Printed below the table, because tensor names are too long for a column.
void print_worst_tensors(const Sweep& sweep) {
  std::vector<std::string> lines;
  for (const SweepPoint& p : sweep.points)
    if (p.measured && !p.worst_tensor.empty())
      lines.push_back(fmt::format("{:>3} {}{}", p.tp, p.worst_tensor,
                                  p.agrees ? "" : fmt::format("; broken first at {}", p.first_broken)));
  if (!lines.empty()) fmt::print("\n  T worst tensor\n{}\n", fmt::join(lines, "\n"));
}

}  // namespace

std::vector<int> parse_degrees(const std::string& text) {
  if (text.empty()) return kSweptDegrees;
  std::vector<int> degrees;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    int degree = 0;
    const auto [after, error] = std::from_chars(at, end, degree);
    const bool last = after == end;
    if (error != std::errc() || degree < 1 || (!last && *after != ','))
      throw request_error(fmt::format(
          "--sweep {} is not a list of degrees: write whole numbers with commas between them, such as 1,2,4",
          text));
    degrees.push_back(degree);
    if (last) return degrees;
    at = after + 1;
  }
}

int run_sweep(const Settings& settings, const std::vector<int>& degrees, std::optional<Fault> fault,
              bool json) {
  Sweeper sweeper(settings, degrees, fault);
  const Sweep& sweep = sweeper.sweep();
  if (!json) print_head(sweep);
  for (size_t i = 0; !sweeper.is_done(); ++i) {
    run_whole(sweeper.run_next({}));
    if (!json) print_row(sweep.points[i]);
  }
  bool any = false;
  for (const SweepPoint& point : sweep.points) any |= point.measured;
  if (!any) throw request_error(sweep.points.front().refused);
  if (json) {
    fmt::print("{}\n", json_text(to_json(sweep)));
  } else {
    print_worst_tensors(sweep);
    print_coverage(sweep);
    const std::string terms = fmt::format(
        "Weights: the rank that holds most. A layer's collectives: forward + backward. A step: one pass "
        "forward and backward{}, the fastest of three. Predicted on {}; measured on {}.",
        settings.update ? " with the optimizer" : "", sweep.predicted_on, sweep.measured_on);
    fmt::print("\n{}\n", broken_into_lines(terms, Table::kMostColumns));
  }
  if (sweep.agrees()) return 0;
  for (const SweepPoint& point : sweep.points) {
    if (point.measured && !point.agrees)
      fmt::print(
          stderr,
          "shardlens-cli: T = {} differs from T = 1, first at tensor {}; worst relative error {:.3e} at "
          "{}, bound {:.1e}\n",
          point.tp, point.first_broken, point.worst_relative_error, point.worst_tensor, point.bound);
  }
  return 1;
}

}  // namespace shardlens::cli
