// `bench record` and `bench trace`: how much slower a run is when it is recorded or traced.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/bench.h"
#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/io/temporary_folder.h"
#include "engine/runtime/measure/record_bench.h"
#include "engine/runtime/measure/trace_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens::cli {

using nlohmann::ordered_json;

constexpr const char* kScratchName = "bench.shardlens";

int bench_record(const CommonOptions& options, int repetitions, const std::string& out,
                 const RecordOptions& record) {
  Settings settings = to_settings(options);
  settings.update = settings.block == Block::Model;
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  std::optional<TemporaryFolder> scratch;
  if (out.empty()) {
    std::vector<std::string> files;
    for (const std::string& name : record_bench_paths(kScratchName))
      for (const std::string& file : files_of_recording(name)) files.push_back(file);
    scratch.emplace(files);
  }
  const std::string path = scratch ? scratch->path_of(kScratchName) : out;
  const RecordBench bench = shardlens::bench_record(plan, path, repetitions, picture_options(record));
  if (options.json) {
    ordered_json ways = ordered_json::array();
    for (const RecordedWay& way : bench.ways)
      ways.push_back({{"pictures", way.pictures},
                      {"seconds", way.seconds},
                      {"ratio", way.ratio},
                      {"lowest_ratio", way.lowest_ratio},
                      {"highest_ratio", way.highest_ratio},
                      {"take_seconds", way.take_seconds},
                      {"sampling_seconds", way.sampling_seconds},
                      {"writing_seconds", way.writing_seconds},
                      {"events_per_step", way.events},
                      {"samples_per_step", way.samples},
                      {"file_bytes_per_step", way.file_bytes}});
    fmt::print("{}\n", json_text(ordered_json{{"plain_seconds", bench.plain_seconds},
                                              {"repetitions", repetitions},
                                              {"recorded", ways}}));
    return 0;
  }
  print_head(settings, "a training step", "");
  fmt::print("not recorded          {:.2f} ms median of {}\n\n", bench.plain_seconds * 1e3,
             counted(repetitions, "round"));
  fmt::print("{:<22} {:>11} {:>10} {:>20} {:>11} {:>11} {:>10} {:>8} {:>10}\n", "recorded, pictures",
             "median", "slower by", "lowest … highest", "stood still", "sampling", "writing", "samples",
             "file");
  for (const RecordedWay& way : bench.ways)
    fmt::print(
        "{:<22} {:>8.2f} ms {:>+8.2f} % {:>20} {:>8.3f} ms {:>8.2f} ms {:>7.2f} ms {:>8.0f} {:>10}\n",
        way.pictures, way.seconds * 1e3, 100 * (way.ratio - 1),
        fmt::format("{:+.2f} … {:+.2f} %", 100 * (way.lowest_ratio - 1), 100 * (way.highest_ratio - 1)),
        way.take_seconds * 1e3, way.sampling_seconds * 1e3, way.writing_seconds * 1e3, way.samples,
        bytes_text(way.file_bytes));
  fmt::print(
      "\nAll figures are for one step, with {} events. Sampling: the slowest rank. Writing: core time of the "
      "writer's thread.\n",
      grouped_text(bench.ways.front().events));
  return 0;
}

int bench_trace(const CommonOptions& options, int repetitions) {
  Settings settings = to_settings(options);
  settings.update = settings.block == Block::Model;
  const TraceBench bench = shardlens::bench_trace(make_plan(settings), repetitions);
  if (options.json) {
    fmt::print("{}\n", json_text(ordered_json{{"untraced_seconds", bench.untraced_seconds},
                                              {"traced_seconds", bench.traced_seconds},
                                              {"ratio", bench.ratio.median},
                                              {"ratio_low", bench.ratio.low},
                                              {"ratio_high", bench.ratio.high},
                                              {"pairs", repetitions},
                                              {"events_per_rank", bench.events},
                                              {"event_seconds", bench.event_seconds},
                                              {"share_by_events", bench.share_by_events()}}));
    return 0;
  }
  print_head(settings, "a training step", "");
  fmt::print("not traced            {:.2f} ms median of {} steps\n", bench.untraced_seconds * 1e3,
             repetitions);
  fmt::print("traced                {:.2f} ms, {} events a rank\n", bench.traced_seconds * 1e3,
             grouped_text(bench.events));
  // With fewer pairs, the true median is outside the range of all pairs more often than 5 times in 100.
  constexpr int kSurePairs = 6;
  fmt::print("slower by             {:+.2f} % median of the pairs, {} {:+.2f} … {:+.2f} %\n",
             100 * (bench.ratio.median - 1), repetitions < kSurePairs ? "of" : "95 in 100 sure of",
             100 * (bench.ratio.low - 1), 100 * (bench.ratio.high - 1));
  fmt::print(
      "by its events alone   {:.4f} %, {:.0f} ns each{}\n", 100 * bench.share_by_events(),
      bench.event_seconds * 1e9,
      settings.backend == BackendChoice::Cpu ? "" : "; on a GPU only the line above includes its marks");
  return 0;
}

}  // namespace shardlens::cli
