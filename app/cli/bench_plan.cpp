// `bench plan`: how long it takes to make plans. Nothing of these plans is run.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/bench.h"
#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/cost/plan_bench.h"
#include "engine/io/json_text.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

struct Spread {
  explicit Spread(const std::vector<double>& seconds)
      : median(median_of(seconds)),
        lowest(*std::min_element(seconds.begin(), seconds.end())),
        highest(*std::max_element(seconds.begin(), seconds.end())) {}
  double median, lowest, highest;
};

void print_row(const std::string& what, const Spread& seconds) {
  fmt::print("{:<52} {:>9.2f} ms {:>22}\n", what, seconds.median * 1e3,
             fmt::format("{:.2f} … {:.2f} ms", seconds.lowest * 1e3, seconds.highest * 1e3));
}

}  // namespace

int bench_plan(int repetitions, bool json) {
  const PlanBench bench = shardlens::bench_plan(repetitions);
  const Spread plan(bench.plan_seconds), tournament(bench.tournament_seconds);
  if (json) {
    const auto row = [](const Spread& seconds) {
      return ordered_json{{"median_seconds", seconds.median},
                          {"lowest_seconds", seconds.lowest},
                          {"highest_seconds", seconds.highest}};
    };
    ordered_json of_plan = row(plan), of_tournament = row(tournament);
    of_plan["parameters"] = bench.parameters;
    of_plan["ranks"] = bench.plan_ranks;
    of_tournament["plans"] = bench.tournament_plans;
    fmt::print("{}\n", json_text(ordered_json{
                           {"repetitions", repetitions}, {"plan", of_plan}, {"tournament", of_tournament}}));
    return 0;
  }
  fmt::print("{}, {} repetitions\n\n{:<52} {:>12} {:>22}\n", machine_description(), repetitions, "", "median",
             "lowest … highest");
  print_row(fmt::format("a step of {} parameters on {} ranks, priced", grouped_text(bench.parameters),
                        grouped_text(bench.plan_ranks)),
            plan);
  print_row(fmt::format("a tournament of {} plans on {} ranks, 10 of them with memory",
                        grouped_text(static_cast<int64_t>(bench.tournament_plans)), large_tournament().ranks),
            tournament);
  return 0;
}

}  // namespace shardlens::cli
