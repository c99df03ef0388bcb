// `bench overlap`, `bench fusion` and `bench speedup`: variants of the same run, measured in turn. They
// compare row-parallel products reduced whole and in parts, passes over the same elements one by one and as
// one step, and one core with T cores.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "app/cli/bench.h"
#include "app/cli/plan_reports.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/device/device.h"
#include "engine/io/json_text.h"
#include "engine/runtime/measure/variants_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens::cli {
namespace {

struct Variant {
  std::string title;
  nlohmann::ordered_json json;  // describes the variant in --json
  Settings settings;
};

/// Makes a remark about the measured times, printed after the table.
using Remark = std::function<std::string(const std::vector<VariantTime>&)>;
Remark always(std::string text) {
  return [text = std::move(text)](const std::vector<VariantTime>&) { return text; };
}

int print_variants(const std::vector<Variant>& variants, int repetitions, bool as_json,
                   const std::string& kind, const Remark& remark) {
  std::vector<Settings> all;
  for (const Variant& variant : variants) all.push_back(variant.settings);
  const std::vector<VariantTime> times = bench_variants(all, repetitions);
  if (as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (size_t i = 0; i < times.size(); ++i) {
      nlohmann::ordered_json point = variants[i].json;
      point["step_seconds"] = times[i].median_seconds;
      point["of_first"] = times[i].of_first;
      point["lowest_of_first"] = times[i].lowest_of_first;
      point["highest_of_first"] = times[i].highest_of_first;
      point["compute_seconds"] = times[i].compute_seconds;
      point["collective_seconds"] = times[i].collective_seconds;
      list.push_back(std::move(point));
    }
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"repetitions", repetitions}, {"points", list}}));
    return 0;
  }
  const Settings& settings = variants.back().settings;
  print_head(settings, "whole model", settings.split.name);
  fmt::print("{:<26} {:>12} {:>32} {:>18} {:>18}\n", kind, "median", "against the first", "rank 0 computes",
             "rank 0 reduces");
  for (size_t i = 0; i < times.size(); ++i)
    fmt::print("{:<26} {:>9.2f} ms {:>32} {:>15.2f} ms {:>15.2f} ms\n", variants[i].title,
               times[i].median_seconds * 1e3,
               fmt::format("{:.1f} % ({:.1f} … {:.1f})", 100 * times[i].of_first,
                           100 * times[i].lowest_of_first, 100 * times[i].highest_of_first),
               times[i].compute_seconds * 1e3, times[i].collective_seconds * 1e3);
  fmt::print("\n{}; each round runs every variant in turn. {}\n", counted(repetitions, "round"),
             remark(times));
  return 0;
}

}  // namespace

int print_overlap(const Settings& settings, int repetitions, bool as_json) {
  std::vector<int> chunks{1, 2, 4, 8};
  if (settings.overlap_chunks > 1) chunks = {1, settings.overlap_chunks};
  std::vector<Variant> variants;
  for (const int parts : chunks) {
    Variant variant{parts == 1 ? "reduced whole" : fmt::format("reduced in {} parts", parts),
                    {{"chunks", parts}},
                    settings};
    variant.settings.overlap_chunks = parts;
    variants.push_back(std::move(variant));
  }
  return print_variants(variants, repetitions, as_json, "row-parallel products",
                        always("A part is reduced while the next part is computed. Here the summing takes a "
                               "core from the products; on a GPU it would not."));
}

int print_fusion(Settings settings, int repetitions, bool as_json) {
  settings.update = settings.block == Block::Model;
  std::vector<Variant> variants;
  for (const Fusion fusion : {Fusion::Off, Fusion::On}) {
    Variant variant{fusion == Fusion::On ? "fused" : "one by one", {{"fusion", to_string(fusion)}}, settings};
    variant.settings.fusion = fusion;
    variants.push_back(std::move(variant));
  }
  return print_variants(variants, repetitions, as_json, "passes over the same elements",
                        always("Both compute the same bits."));
}

int print_speedup(Settings settings, int repetitions, bool as_json) {
  if (settings.tp < 2)
    throw request_error("bench speedup compares T ranks with T = 1 on one core; give --tp 2 or more");
  settings.update = settings.block == Block::Model;
  settings.threads_per_rank = 1;
  Settings alone = settings;
  alone.tp = 1;
  const std::string many = fmt::format("T = {}, a core each", settings.tp);
  return print_variants({{"T = 1, one core", {{"tp", 1}}, alone}, {many, {{"tp", settings.tp}}, settings}},
                        repetitions, as_json, "ranks of one thread",
                        [&](const std::vector<VariantTime>& times) {
                          return fmt::format("T = {} is {:.2f} × as fast as one core ({:.2f} … {:.2f}).",
                                             settings.tp, 1 / times[1].of_first,
                                             1 / times[1].highest_of_first, 1 / times[1].lowest_of_first);
                        });
}

}  // namespace shardlens::cli
