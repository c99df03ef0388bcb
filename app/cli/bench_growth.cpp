// `bench scaling --out FOLDER`: measures how a training step's time grows, prints it, and writes one table
// and one chart for each axis.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/bench.h"
#include "app/cli/or_null.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/hardware_file.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/json_text.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/measure/growth_bench.h"
#include "engine/runtime/measure/growth_chart.h"

namespace shardlens::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr GrowthAxis kAxes[] = {GrowthAxis::Model, GrowthAxis::Ranks, GrowthAxis::Sequence,
                                GrowthAxis::Batch};

std::string path_of(const std::string& folder, GrowthAxis axis, const char* ending) {
  return (fs::path(folder) / fmt::format("growth-{}{}", to_string(axis), ending)).string();
}

std::string calibration_of(const std::string& folder) {
  return (fs::path(folder) / "calibration.json").string();
}

// Checks that the folder can be written to and that nothing in it is somebody else's, minutes before the
// first file is written. The folder itself is made only with its first file, so a run that is stopped leaves
// nothing behind.
void check_folder(const std::string& folder) {
  std::error_code ignored;
  fs::path standing = fs::absolute(folder).lexically_normal();
  while (!fs::exists(standing, ignored) && standing.has_relative_path()) standing = standing.parent_path();
  try {
    const AtomicFile probe(path_of(standing, GrowthAxis::Model, ".csv"), kGrowthTable);
    for (const GrowthAxis axis : kAxes) {
      require_replaceable(path_of(folder, axis, ".csv"), kGrowthTable);
      require_replaceable(path_of(folder, axis, ".png"), kPicture);
    }
    require_replaceable(calibration_of(folder), hardware_output(calibration_of(folder)));
  } catch (const Error& error) {
    throw request_error(
        fmt::format("cannot write tables into {} ({}): choose another --out", folder, error.what()));
  }
}

// If the plug-in that draws charts is missing, the measurement still runs, without charts.
std::optional<DrawChart> find_drawer() {
  try {
    return open_chart_plugin();
  } catch (const Error& error) {
    fmt::print(stderr, "cannot draw charts: {}\n", error.what());
    return {};
  }
}

std::string run_text(const GrowthRow& row) {
  if (row.seconds.empty()) return "left out: " + row.left_out;
  if (row.sampled.is_whole()) return fmt::format("{} ×", row.seconds.size());
  return fmt::format("{} ×, as {} and {} of {} layers", row.seconds.size(), row.sampled.fewer,
                     row.sampled.more, row.point.settings.model.layers);
}

std::string milliseconds(double seconds) {
  return seconds > 0 ? fmt::format("{:.2f} ms", seconds * 1e3) : "";
}

std::string ratio(double value) {
  return value > 0 ? fmt::format("{:.2f} ×", value) : "";
}

void print(const Growth& growth) {
  fmt::print("How a training step's time grows, {}, next to the cost model's ({})\n", growth.machine,
             growth.hardware.basis);
  for (const GrowthAxis axis : kAxes) {
    fmt::print("\n{:<10} {:>12} {:>12} {:>24} {:>12} {:>9} {:>9}  {}\n", to_string(axis), "size", "median",
               "fastest … slowest", "model", "of it", "growth", "run");
    const GrowthRow* before = nullptr;
    for (const GrowthRow& row : growth.rows) {
      if (row.point.axis != axis) continue;
      const bool measured = !row.seconds.empty();
      const std::string spread = measured ? fmt::format("{:.2f} … {:.2f} ms", row.lowest_seconds() * 1e3,
                                                        row.highest_seconds() * 1e3)
                                          : "";
      fmt::print(
          "{:<10} {:>12} {:>12} {:>24} {:>12} {:>9} {:>9}  {}{}\n", "",
          grouped_text(static_cast<int64_t>(row.point.size)), milliseconds(row.median_seconds()), spread,
          milliseconds(row.predicted_seconds), ratio(row.of_prediction()),
          before == nullptr ? "" : ratio(growth_beyond_model(*before, row)), run_text(row),
          before != nullptr && grows_worse(*before, row) ? "; grows more than the model predicts" : "");
      if (measured) before = &row;
    }
  }
  fmt::print(
      "\nOf it: measured time / model's time. Growth: this ratio / the ratio of the row before; 1 is what "
      "the model predicts. {:.0f} s in all.\n",
      growth.seconds);
}

ordered_json to_json(const Growth& growth, const std::string& folder) {
  ordered_json rows = ordered_json::array();
  const GrowthRow* before = nullptr;
  for (const GrowthRow& row : growth.rows) {
    const Settings& s = row.point.settings;
    if (before != nullptr && before->point.axis != row.point.axis) before = nullptr;
    ordered_json one = {{"axis", to_string(row.point.axis)},
                        {"size", row.point.size},
                        {"parameters", parameter_count(s.model)},
                        {"tp", s.tp},
                        {"batch", s.batch},
                        {"seq", s.seq},
                        {"planned_bytes", row.planned_bytes},
                        {"predicted_seconds", or_null(row.predicted_seconds, row.predicted_seconds > 0)}};
    if (row.left_out.empty()) {
      one["repetitions"] = row.seconds.size();
      one["median_seconds"] = row.median_seconds();
      one["lowest_seconds"] = row.lowest_seconds();
      one["highest_seconds"] = row.highest_seconds();
      one["measured_over_predicted"] = row.of_prediction();
      one["layers_run"] = row.sampled.is_whole() ? ordered_json{s.model.layers}
                                                 : ordered_json{row.sampled.fewer, row.sampled.more};
      if (before != nullptr) {
        one["growth_over_predicted"] = growth_beyond_model(*before, row);
        one["grows_worse"] = grows_worse(*before, row);
      }
      before = &row;
    } else {
      one["left_out"] = row.left_out;
    }
    rows.push_back(one);
  }
  return {{"folder", folder},
          {"measured_on", growth.machine},
          {"predicted_on", growth.hardware.basis},
          {"seconds", growth.seconds},
          {"memory_limit_bytes", growth.limits.memory_bytes},
          {"points", rows}};
}

}  // namespace

int bench_growth(const CommonOptions& options, const GrowthWish& wish) {
  check_folder(wish.folder);
  const OutputFolder place(wish.folder, OutputFolder::Made::Later);
  Settings base = to_settings(options);
  if (base.backend != BackendChoice::Cpu)
    throw request_error("bench scaling --out measures this machine's cores: leave out --backend");
  base.weights_path.clear();
  base.threads_per_rank = 0;
  const std::optional<DrawChart> draw = find_drawer();
  GrowthLimits limits;
  limits.budget_seconds = wish.budget_seconds;
  limits.repetitions = wish.repetitions;
  Measuring measuring;
  measuring.progress = [last = std::string()](const std::string& doing, double share) mutable {
    if (doing == last) return;
    last = doing;
    fmt::print(stderr, "{:3.0f} %  {}\n", 100 * share, doing);
  };
  const Growth growth = measure_growth(base, limits, measuring);
  // Printed before the files are written: on a full disk the files fail, but the results are not lost.
  if (options.json) {
    fmt::print("{}\n", json_text(to_json(growth, wish.folder)));
  } else {
    print(growth);
  }
  std::fflush(stdout);
  make_folder(wish.folder);
  for (const GrowthAxis axis : kAxes) {
    write_file_atomically(path_of(wish.folder, axis, ".csv"), kGrowthTable, growth_csv(growth, axis));
    if (!draw) continue;
    std::string png;
    (*draw)(growth_chart(growth, axis), png);
    write_file_atomically(path_of(wish.folder, axis, ".png"), kPicture, png);
  }
  write_hardware_file(growth.hardware, calibration_of(wish.folder));
  if (!options.json)
    fmt::print("Written to {}: growth-AXIS.csv{}, calibration.json\n", wish.folder,
               draw ? ", growth-AXIS.png" : "");
  return 0;
}

}  // namespace shardlens::cli
