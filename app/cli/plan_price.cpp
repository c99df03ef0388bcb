// `plan --pp P`: prints the cost model's estimate and the figures that it uses.
#include "app/cli/plan_price.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/cli/or_null.h"
#include "app/cli/plan_reports.h"
#include "app/cli/table.h"
#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/cost/model_price.h"
#include "engine/io/json_text.h"
#include "engine/planner/parameters.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const ModelPrice& price, const Hardware& hardware, double plan_seconds) {
  ordered_json memory = ordered_json::object();
  for (int kind = 0; kind < kMemoryKinds; ++kind)
    memory[to_string(static_cast<MemoryKind>(kind))] = price.memory_bytes[static_cast<size_t>(kind)];
  ordered_json sources = ordered_json::object();
  for (const auto& [figure, source] : hardware.sources) sources[figure] = source;
  const auto predicted = [&](double seconds) { return or_null(seconds, price.step_seconds > 0); };
  return {{"ranks", price.ranks},
          {"stages", price.pipeline.stages},
          {"stage_layers", price.pipeline.stage_layers},
          {"bubble_fraction", price.pipeline.bubble_fraction},
          {"hop_bytes", price.pipeline.hop_bytes},
          {"pipeline_sent_bytes_per_rank", price.pipeline.sent_bytes},
          {"flops_per_rank", price.sum.flops},
          {"causal_flops_per_rank", price.sum.causal_flops},
          {"tp_collectives", price.sum.tp_collectives},
          {"tp_sent_bytes_per_rank", price.sum.tp_sent_bytes},
          {"dp_collectives", price.sum.dp_collectives},
          {"dp_sent_bytes_per_rank", price.sum.dp_sent_bytes},
          {"compute_seconds", predicted(price.sum.compute_seconds)},
          {"tp_seconds", predicted(price.sum.tp_seconds)},
          {"dp_seconds", predicted(price.sum.dp_seconds)},
          {"update_seconds", predicted(price.sum.update_seconds)},
          {"predicted_seconds", predicted(price.step_seconds)},
          {"memory_bytes_per_rank", total_bytes(price.memory_bytes)},
          {"memory_limit_bytes", hardware.memory_bytes},
          {"bytes_by_kind", memory},
          {"predicted_on", hardware.title},
          {"basis", hardware.basis},
          {"sources", sources},
          {"plan_seconds", plan_seconds}};
}

void print(const ModelPrice& price, const Settings& s, const Hardware& hardware, double plan_seconds) {
  const Pipeline& pipeline = price.pipeline;
  const CostSum& sum = price.sum;
  fmt::print("{} · {} parameters · T = {} · D = {} · P = {} · {} ranks · split {} · {}\n", s.model.title,
             grouped_text(parameter_count(s.model)), s.tp, s.dp, pipeline.stages, grouped_text(price.ranks),
             s.split.name, to_string(s.dtype));
  fmt::print("batch {} × sequence {} in {} a replica · recompute {} · a training step with AdamW\n\n",
             s.batch, s.seq, counted(s.micro_batches, "part"), to_string(s.recompute));
  if (pipeline.stages > 1) {
    fmt::print("Pipeline, in this estimate only: the engine runs no stages\n");
    fmt::print("  layers of a stage   {:>18}\n", pipeline.stage_layers);
    fmt::print("  bubble              {:>18} of the time, a stage waits: (P-1)/(m+P-1), m = {}\n",
               fmt::format("{:.1f} %", 100 * pipeline.bubble_fraction), s.micro_batches);
    fmt::print("  sent to a neighbour {:>18} bytes a part, {} in a step, both directions\n",
               grouped_text(pipeline.hop_bytes), bytes_text(static_cast<double>(pipeline.sent_bytes)));
  }
  fmt::print("Rank 0{}, counted\n", pipeline.stages > 1 ? " of the slowest stage" : "");
  fmt::print("  FLOPs               {:>18.6g} ({:.6g} without the masked half of attention)\n",
             static_cast<double>(sum.flops), static_cast<double>(sum.causal_flops));
  fmt::print("  among T             {:>18} sent in {} collectives\n",
             bytes_text(static_cast<double>(sum.tp_sent_bytes)), grouped_text(sum.tp_collectives));
  fmt::print("  among D             {:>18} sent in {} all-reduces\n",
             bytes_text(static_cast<double>(sum.dp_sent_bytes)), grouped_text(sum.dp_collectives));
  fmt::print("\nMemory of rank 0{}\n",
             pipeline.stages > 1 ? ", an upper bound: each stage is counted with both ends" : ", planned");
  for (int kind = 0; kind < kMemoryKinds; ++kind)
    fmt::print("  {:<20}{:>18}\n", to_string(static_cast<MemoryKind>(kind)),
               bytes_text(static_cast<double>(price.memory_bytes[static_cast<size_t>(kind)])));
  const int64_t bytes = total_bytes(price.memory_bytes);
  fmt::print("  {:<20}{:>18} {} {}\n", "total", bytes_text(static_cast<double>(bytes)),
             bytes <= hardware.memory_bytes ? "fits into" : "exceeds",
             bytes_text(static_cast<double>(hardware.memory_bytes)));
  if (price.step_seconds <= 0) {
    fmt::print("\n");
    print_hanging("", "No time predicted: " + no_time_text(hardware, s.dtype));
  } else {
    fmt::print("\n");
    print_hanging("", fmt::format("Time, estimated on {} ({})", hardware.title, hardware.basis));
    const auto row = [](const char* what, double seconds) {
      fmt::print("  {:<20}{:>18}\n", what, fmt::format("{:.3f} ms", seconds * 1e3));
    };
    row("compute", sum.compute_seconds);
    row("collectives of T", sum.tp_seconds);
    if (pipeline.stages > 1) {
      const double busy = sum.compute_seconds + sum.tp_seconds + 2 * s.micro_batches * pipeline.hop_seconds;
      row("between stages", 2 * s.micro_batches * pipeline.hop_seconds);
      row("bubble", busy * pipeline.bubble_fraction / (1 - pipeline.bubble_fraction));
    }
    row("all-reduces of D", sum.dp_seconds);
    row("optimizer", sum.update_seconds);
    row("step", price.step_seconds);
    fmt::print("  {:<20}{:>18}\n", "tokens/s",
               fmt::format("{:.0f}", static_cast<double>(s.batch * s.seq) / price.step_seconds));
    fmt::print("the estimate assumes that nothing overlaps\n");
  }
  fmt::print("\nFigures of the preset\n");
  for (const auto& [figure, source] : hardware.sources)
    print_hanging(fmt::format("  {:<24} ", figure), source);
  fmt::print("\npriced in {:.1f} ms (measured)\n", plan_seconds * 1e3);
}

}  // namespace

int print_price(Settings settings, int stages, bool json) {
  settings.update = true;
  const Hardware& hardware = find_hardware(settings.hardware);
  const auto begin = std::chrono::steady_clock::now();
  const ModelPrice price = price_model(settings, hardware, stages);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (json) {
    fmt::print("{}\n", json_text(to_json(price, hardware, seconds)));
  } else {
    print(price, settings, hardware, seconds);
  }
  return 0;
}

}  // namespace shardlens::cli
