// `bench overlap`: a layer whose row-parallel products are reduced in parts, against the same reduced whole.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/plan_reports.h"
#include "engine/device/device.h"
#include "engine/runtime/overlap_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens::cli {

int print_overlap(const Settings& settings, int repetitions, bool as_json) {
  std::vector<int> chunks{1, 2, 4, 8};
  if (settings.overlap_chunks > 1) chunks = {1, settings.overlap_chunks};
  const std::vector<OverlapPoint> points = bench_overlap(settings, chunks, repetitions);
  if (as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const OverlapPoint& point : points)
      list.push_back({{"chunks", point.chunks},
                      {"step_seconds", point.median_seconds},
                      {"of_whole", point.of_whole},
                      {"compute_seconds", point.compute_seconds},
                      {"collective_seconds", point.collective_seconds}});
    fmt::print("{}\n", nlohmann::ordered_json{{"repetitions", repetitions}, {"points", list}}.dump());
    return 0;
  }
  fmt::print("{} · {} · T = {} · split {} · {} · batch {} × sequence {} · {}\n\n", settings.model.title,
             settings.block == Block::Model ? "whole model" : "one " + to_string(settings.block), settings.tp,
             settings.split.name, to_string(settings.dtype), settings.batch, settings.seq,
             machine_description());
  fmt::print("{:<26} {:>12} {:>14} {:>18} {:>18}\n", "row-parallel products", "median", "against whole",
             "rank 0 computes", "rank 0 reduces");
  for (const OverlapPoint& point : points)
    fmt::print("{:<26} {:>9.2f} ms {:>12.1f} % {:>15.2f} ms {:>15.2f} ms\n",
               point.chunks == 1 ? "reduced whole" : fmt::format("reduced in {} parts", point.chunks),
               point.median_seconds * 1e3, 100 * point.of_whole, point.compute_seconds * 1e3,
               point.collective_seconds * 1e3);
  fmt::print(
      "\nForward and backward, {} rounds, each number of parts in turn. A part is reduced beside the next "
      "one's product; here the summing takes a core from the products, on a GPU it would not.\n",
      repetitions);
  return 0;
}

}  // namespace shardlens::cli
