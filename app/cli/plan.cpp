// `plan`: prints the Program for the chosen settings. It allocates and runs nothing, so any size is possible.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/cli/heads_report.h"
#include "app/cli/options.h"
#include "app/cli/or_null.h"
#include "app/cli/plan_derive.h"
#include "app/cli/plan_price.h"
#include "app/cli/plan_reports.h"
#include "app/cli/table.h"
#include "app/cli/verbs.h"
#include "app/command_line/request.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/cost/pass_time.h"
#include "engine/io/json_text.h"
#include "engine/program/links.h"
#include "engine/program/program_json.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/plan.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

constexpr double kMostBytes = 1e18;

struct CollectiveCount {
  int forward = 0, backward = 0;  // the optimizer's with the backward pass
  int64_t sent_bytes = 0;         // per rank, forward and backward
};

bool is_of_tp(const Step& step) {
  return is_collective(step.op) && step.axis == Axis::Tp;
}

// Counts collectives by name. Those among the replicas are called "all-reduce over replicas", those among
// ranks that hold the same key heads "all-reduce of shared key heads". `layer`: one layer, or -1 for all.
std::map<std::string, CollectiveCount> count_collectives(const Program& program, int layer = -1) {
  std::map<std::string, CollectiveCount> counts;
  for (const Step& step : program.steps) {
    if (!is_collective(step.op) || (layer >= 0 && step.layer != layer)) continue;
    const char* among = !is_of_tp(step)                  ? " over replicas"
                        : is_among_copies(program, step) ? " of shared key heads"
                                                         : "";
    CollectiveCount& count = counts[to_string(step.op) + among];
    ++(step.phase == Phase::Forward ? count.forward : count.backward);
    count.sent_bytes += sent_bytes(program, step.id);
  }
  return counts;
}

const char* letter(Conjugate conjugate) {
  return conjugate == Conjugate::F ? "f" : conjugate == Conjugate::G ? "g" : "";
}

/// What rank 0 computes against what it communicates: forward, backward and in all.
std::vector<std::pair<const char*, ComputeRatio>> ratios_of(const Plan& plan) {
  const auto of = [&](std::optional<Phase> phase) {
    return compute_ratio(plan.program, plan.cost[0], phase);
  };
  return {{"forward", of(Phase::Forward)}, {"backward", of(Phase::Backward)}, {"pass", of({})}};
}

std::string text_of(const Plan& plan) {
  const Program& program = plan.program;
  const Links links(program);
  ordered_json collectives = ordered_json::array();
  for (const Step& step : program.steps) {
    if (!is_collective(step.op)) continue;
    int64_t bytes = 0;  // of all tensors of a bucket
    for (const TensorId output : step.outputs) bytes += program.tensor(output).bytes();
    const double seconds = plan.cost[0][static_cast<size_t>(step.id)].predicted_seconds;
    collectives.push_back({{"step", step.id},
                           {"name", to_string(step.op)},
                           {"phase", to_string(step.phase)},
                           {"axis", to_string(step.axis)},
                           {"layer", step.layer},
                           {"conjugate", letter(step.conjugate)},
                           {"tensor", program.tensor(step.outputs[0]).name},
                           {"tensors", step.outputs.size()},
                           {"tensor_bytes", bytes},
                           {"sent_bytes_per_rank", sent_bytes(program, step.id)},
                           {"predicted_seconds", or_null(seconds, seconds > 0)},
                           {"why", explain(links, step.id)}});
  }
  ordered_json counts = ordered_json::object();
  for (const auto& [name, count] : count_collectives(program)) {
    counts[name] = {
        {"forward", count.forward}, {"backward", count.backward}, {"sent_bytes_per_rank", count.sent_bytes}};
  }
  ordered_json per_layer = ordered_json::object();
  for (const auto& [name, count] :
       count_collectives(program, program.settings.block == Block::Model ? 0 : -1)) {
    per_layer[name] = {
        {"forward", count.forward}, {"backward", count.backward}, {"sent_bytes_per_rank", count.sent_bytes}};
  }
  ordered_json memory = ordered_json::array();
  for (const MemoryPlan& rank : plan.memory) {
    ordered_json kinds = ordered_json::object(), borrowed = ordered_json::object();
    for (int kind = 0; kind < kMemoryKinds; ++kind) {
      const auto at = static_cast<size_t>(kind);
      kinds[to_string(static_cast<MemoryKind>(kind))] = rank.arena_bytes[at];
      if (rank.borrowed_bytes[at] > 0)
        borrowed[to_string(static_cast<MemoryKind>(kind))] = rank.borrowed_bytes[at];
    }
    memory.push_back({{"total_bytes", total_bytes(rank.arena_bytes)},
                      {"bytes_by_kind", kinds},
                      {"bytes_in_other_arenas_by_kind", borrowed}});
  }
  int64_t flops = 0;
  for (const StepCost& cost : plan.cost[0]) flops += cost.flops;
  const double seconds = predicted_pass_seconds(program, plan.cost);
  ordered_json out = {{"collective_counts", counts},
                      {"collective_counts_per_layer", per_layer},
                      {"collectives", collectives},
                      {"memory_per_rank", memory},
                      {"flops_rank_0", flops},
                      {"predicted_seconds", or_null(seconds, seconds > 0)},
                      {"plan_seconds", plan.plan_seconds}};
  ordered_json ratios = ordered_json::object();
  for (const auto& [name, ratio] : ratios_of(plan))
    ratios[name] = {
        {"compute_seconds", or_null(ratio.compute_seconds, ratio.compute_seconds > 0)},
        {"communicate_seconds", or_null(ratio.communicate_seconds, ratio.communicate_seconds > 0)},
        {"ratio", ratio.is_known() ? ordered_json(ratio.ratio()) : ordered_json()}};
  out["compute_to_communication"] = ratios;
  out["heads"] = heads_json(plan);
  std::string text = json_text(out);
  text.pop_back();  // its last brace
  return fmt::format("{},\"program\":{}}}", text, program_text(program));
}

void print(const Plan& plan) {
  const Program& program = plan.program;
  const Settings& s = program.settings;
  const bool whole = s.block == Block::Model;
  fmt::print("{} · {} · T = {} · D = {} · split {} · {} · batch {} × sequence {}{}\n\n", s.model.title,
             whole ? "whole model" : "one " + to_string(s.block), s.tp, s.dp, s.split.name,
             to_string(s.dtype), s.batch, s.seq,
             s.cache_tokens > 0 ? fmt::format(" against a cache of {}", s.cache_tokens) : "");
  using Holds = Table::Holds;
  Table table({{"step  ", Holds::Number},
               {"equation", Holds::Text},
               {"output [global shape]", Holds::Name},
               {"layout"},
               {"sent", Holds::Number}});
  int hidden_layer = -1;
  bool hides_parts = false;
  std::optional<Phase> phase;
  for (const Step& step : program.steps) {
    if (step.micro_batch > 0) {  // so are all parts of the batch
      if (!std::exchange(hides_parts, true))
        table.add(
            {"…  ", s.micro_batches == 2
                        ? "part 1 of the batch is like part 0, and adds to its gradients"
                        : fmt::format("parts 1 to {} of the batch are like part 0, and add to its gradients",
                                      s.micro_batches - 1)});
      continue;
    }
    if (step.layer > 0) {  // all layers are alike: the first one is printed
      if (step.layer != hidden_layer && step.phase == Phase::Forward && hidden_layer < 0)
        table.add({"…  ", fmt::format("layers 1 to {} are like layer 0", s.model.layers - 1)});
      hidden_layer = step.layer;
      continue;
    }
    const Tensor& out = program.tensor(step.outputs[0]);
    const int64_t bytes = sent_bytes(program, step.id);
    if (phase != step.phase) table.add({"", fmt::format("── {}", to_string(step.phase))});
    phase = step.phase;
    table.add({fmt::format("{} {:1}", step.id, letter(step.conjugate)), step.equation,
               fmt::format("{} {}", out.name, to_string(out.shape)), to_string(out.layout),
               bytes ? bytes_text(static_cast<double>(bytes)) : ""});
  }
  fmt::print("{}", table.text());
  fmt::print("\nCollectives (bytes each rank sends, ring)\n");
  const auto counts = count_collectives(program);
  if (counts.empty())
    fmt::print("  none: {}\n", s.tp == 1 ? "there is only one rank" : "every tensor is Replicated");
  for (const auto& [name, count] : counts) {
    fmt::print("  {:<15} {} forward, {} backward, {} bytes per rank\n", name, count.forward, count.backward,
               grouped_text(count.sent_bytes));
  }
  if (whole) {
    for (const auto& [name, count] : count_collectives(program, 0))
      fmt::print("  of them in each layer: {} {} forward, {} backward\n", name, count.forward,
                 count.backward);
  }
  const Links links(program);
  for (const Step& step : program.steps) {
    if (is_collective(step.op) && step.layer <= 0 && step.micro_batch == 0) {
      print_hanging(
          fmt::format("  step {:>3} {:1} ", step.id, letter(step.conjugate)),
          fmt::format("{} bytes: {}", grouped_text(sent_bytes(program, step.id)), explain(links, step.id)));
    }
  }
  fmt::print("\nMemory of rank 0 (planned; the run allocates exactly this)\n");
  for (int kind = 0; kind < kMemoryKinds; ++kind) {
    fmt::print("  {:<22} {:>14}\n", to_string(static_cast<MemoryKind>(kind)),
               grouped_text(plan.memory[0].arena_bytes[static_cast<size_t>(kind)]));
  }
  fmt::print("  {:<22} {:>14} bytes = {}\n", "total", grouped_text(total_bytes(plan.memory[0].arena_bytes)),
             bytes_text(static_cast<double>(total_bytes(plan.memory[0].arena_bytes))));
  const std::string borrowed = explain_borrowing(plan.memory[0]);
  if (!borrowed.empty()) print_hanging("  ", borrowed);
  const std::string heads = heads_line(plan);
  if (!heads.empty()) {
    fmt::print("\nHeads\n");
    print_hanging("  ", heads);
  }
  fmt::print("\n");
  const double seconds = predicted_pass_seconds(program, plan.cost);
  if (seconds > 0) {
    const Hardware& hardware = find_hardware(s.hardware);
    print_hanging("", fmt::format("Predicted on {}: {:.2f} ms (estimated, alpha-beta; {})", hardware.title,
                                  seconds * 1e3, hardware.basis));
    std::string words;
    for (const auto& [name, ratio] : ratios_of(plan))
      if (ratio.is_known())
        words += fmt::format("{}{} {:.3g} ({:.2f} ms : {:.2f} ms)", words.empty() ? "" : ", ", name,
                             ratio.ratio(), ratio.compute_seconds * 1e3, ratio.communicate_seconds * 1e3);
    if (!words.empty())
      print_hanging("", fmt::format("Computing against communicating, R: {}; estimated for rank 0", words));
  } else {
    print_hanging("", "No time predicted: " + no_time_text(find_hardware(s.hardware), s.dtype));
  }
}

}  // namespace

Verb add_plan(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  auto stages = std::make_shared<int>(0);
  auto wish = std::make_shared<TournamentWish>();
  auto tournament = std::make_shared<bool>(false), figures = std::make_shared<bool>(false),
       algebra = std::make_shared<bool>(false), latex = std::make_shared<bool>(false);
  auto derived = std::make_shared<std::string>();
  add_common(app, *options);
  add_run_options(app, *options, {Part::Cache});
  CLI::Option* const priced = app.add_option(
      "--pp", *stages,
      "P: estimates the time of a training step in P pipeline stages (1: none) instead of printing its "
      "steps. The engine does not run stages. Takes milliseconds at any size");
  CLI::Option* const held =
      app.add_flag("--tournament", *tournament,
                   "Ranks every split on every T x D of the ranks by predicted time, within a memory limit");
  app.add_option("--ranks", wish->ranks, "tournament: T x D; --tp times --dp if left out")
      ->check(between(int64_t{1}, int64_t{1 << 20}))
      ->needs(held);
  app.add_option("--top", wish->listed, "tournament: how many plans it lists")
      ->check(between(int64_t{1}, int64_t{1000}))
      ->capture_default_str()
      ->needs(held);
  app.add_option("--memory", wish->memory_bytes, "tournament: bytes a rank may hold, such as 40e9")
      ->check(between(1.0, kMostBytes))
      ->needs(held);
  app.add_option("--run", wish->run,
                 "tournament: how many of the listed plans it also runs here; needs bench calibrate first")
      ->check(between(int64_t{0}, int64_t{100}))
      ->needs(held);
  app.add_flag("--algebra", *algebra,
               "Prints the layout algebra as Markdown: layouts, collectives, the linear layer, and for every "
               "operation what it allows on terms and pieces, run on --tp ranks (2 to 8, 4 if left out)");
  app.add_flag("--figures", *figures, "Prints the worked figures of the texts, as printed there and exact");
  CLI::Option* const derives = app.add_option(
      "--derive", *derived,
      "Prints the derivation of one step, by its number or name, with block matrices and this plan's sizes");
  app.add_flag("--latex", *latex, "derive: as LaTeX, an align* environment that needs only amsmath")
      ->needs(derives);
  app.footer(R"(
Examples
  shardlens-cli plan --model gpt2 --tp 4 --split reversed
  shardlens-cli plan --model gpt2 --tp 4 --batch 1 --seq 1 --cache 1024    the next token
  shardlens-cli plan --model megatron-8.3b --tp 8 --dtype fp16 --seq 1024 --hardware v100-32gb
  shardlens-cli plan --model gpt-1t --tp 8 --pp 64 --dp 6 --micro-batches 512 --batch 3072 \
      --seq 2048 --dtype fp16 --recompute full --hardware a100-80gb
  shardlens-cli plan --tournament --model megatron-8.3b --ranks 16 --batch 16 --seq 1024 \
      --dtype fp16 --recompute full --hardware a100-80gb-2-nodes
  shardlens-cli plan --tournament --model gpt2-10m --ranks 2 --run 5
  shardlens-cli plan --figures
  shardlens-cli plan --algebra --tp 4
  shardlens-cli plan --model gpt2 --layer --tp 4 --derive mlp.proj
  shardlens-cli plan --model gpt2 --layer --tp 4 --derive mlp.fc\ dX --latex
)");
  return [options, stages, priced, wish, tournament, figures, algebra, derived, latex, &app] {
    if (*algebra) {
      refuse_without_effect(app, {"--figures", "--tournament", "--pp", "--derive"},
                            "--algebra prints only its own page");
      constexpr int kRanks = 4;
      return print_algebra(app.count("--tp") > 0 ? options->tp : kRanks, options->json);
    }
    if (*figures) {
      refuse_without_effect(app, {"--tournament", "--pp", "--derive"},
                            "--figures prints only the worked figures");
      return print_figures(options->json);
    }
    const Settings settings = to_settings(*options);
    // A run on the CPU refuses options that only GPUs have. A run on GPUs can be planned on any machine.
    if (settings.backend == BackendChoice::Cpu) choose(settings, {});
    if (*tournament) {
      refuse_without_effect(app, {"--pp", "--derive", "--layer", "--block", "--split", "--loss"},
                            "the tournament ranks every split of the whole model, on T x D ranks");
      if (wish->ranks > 0)
        refuse_without_effect(app, {"--tp", "--dp"}, "the tournament ranks every T x D of --ranks");
      return print_tournament(settings, *wish, options->json);
    }
    if (priced->count() > 0) {
      refuse_without_effect(app, {"--derive"}, "--pp prints times and no steps");
      return print_price(settings, *stages, options->json);
    }
    const std::shared_ptr<const Plan> plan = make_plan(settings);
    if (!derived->empty()) {
      if (*latex) refuse_without_effect(app, {"--json"}, "--latex prints LaTeX");
      return print_derivation(plan->program, *derived,
                              *latex          ? DerivationForm::Latex
                              : options->json ? DerivationForm::Json
                                              : DerivationForm::Text);
    }
    if (options->json) {
      fmt::print("{}\n", text_of(*plan));
    } else {
      print(*plan);
    }
    return 0;
  };
}

}  // namespace shardlens::cli
