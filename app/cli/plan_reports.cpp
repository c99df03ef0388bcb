// Prints the cost model's tables: tournament, worked figures and scaling.
#include "app/cli/plan_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "app/cli/table.h"
#include "app/command_line/help.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/config/hardware_file.h"
#include "engine/config/heads.h"
#include "engine/cost/scaling.h"
#include "engine/cost/tournament.h"
#include "engine/io/json_text.h"
#include "engine/laboratory/laboratory.h"
#include "engine/planner/algebra_table.h"
#include "engine/runtime/measure/calibrate.h"
#include "engine/runtime/measure/measured_scaling.h"
#include "engine/runtime/plan.h"
#include "engine/train/experiments/figures_of_runs.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kIndent = "      ";  // before an unnamed split, which is printed below its figures
constexpr size_t kCutColumns = 94;

std::vector<double> measured_seconds(const std::vector<CalibrationCheck>& checks) {
  std::vector<double> seconds;
  for (const CalibrationCheck& check : checks) seconds.push_back(check.times.measured_seconds);
  return seconds;
}

ordered_json to_json(const Entrant& entrant, size_t place) {
  return {{"place", place + 1},
          {"tp", entrant.tp},
          {"dp", entrant.dp},
          {"split", entrant.split.name},
          {"predicted_seconds", entrant.seconds},
          {"compute_seconds", entrant.sum.compute_seconds},
          {"tp_seconds", entrant.sum.tp_seconds},
          {"dp_seconds", entrant.sum.dp_seconds},
          {"update_seconds", entrant.sum.update_seconds},
          {"sent_bytes_per_rank", entrant.sum.tp_sent_bytes + entrant.sum.dp_sent_bytes},
          {"memory_bytes_per_rank", entrant.memory_bytes}};
}

void print(const Tournament& tournament, const Settings& s, const Hardware& hardware, int ranks,
           double seconds) {
  fmt::print(
      "{} · T × D = {} ranks · {} · batch {} × sequence {} · recompute {} · a training step with AdamW\n",
      s.model.title, ranks, to_string(s.dtype), s.batch, s.seq, to_string(s.recompute));
  fmt::print("{} of {} small Programs in {:.0f} ms (measured); at most {} per rank\n\n",
             counted(static_cast<int64_t>(tournament.entrants.size()), "plan"), tournament.programs,
             seconds * 1e3, bytes_text(static_cast<double>(tournament.limit_bytes)));
  fmt::print("{:>5} {:>4} {:>4} {:>12} {:>11} {:>11} {:>11} {:>9} {:>9}  {}\n", "place", "T", "D", "step",
             "compute", "among T", "among D", "sent", "memory", "split");
  for (const size_t place : tournament.listed) {
    const Entrant& e = tournament.entrants[place];
    const bool is_named = character_count(e.split.name) < 14;
    std::string split = (is_named ? "  " : "\n") + broken_into_lines(e.split.name, kCutColumns);
    for (size_t at = 0; (at = split.find('\n', at)) != std::string::npos; ++at) split.insert(at + 1, kIndent);
    fmt::print("{:>5} {:>4} {:>4} {:>9.2f} ms {:>8.2f} ms {:>8.2f} ms {:>8.2f} ms {:>9} {:>9}{}\n", place + 1,
               e.tp, e.dp, e.seconds * 1e3, e.sum.compute_seconds * 1e3, e.sum.tp_seconds * 1e3,
               e.sum.dp_seconds * 1e3,
               bytes_text(static_cast<double>(e.sum.tp_sent_bytes + e.sum.dp_sent_bytes)),
               bytes_text(static_cast<double>(e.memory_bytes)), split);
  }
  if (tournament.listed.empty())
    fmt::print("  no plan fits into {} per rank\n", bytes_text(static_cast<double>(tournament.limit_bytes)));
  if (tournament.too_large > 0)
    fmt::print("{} faster plans exceed the memory limit{}\n",
               grouped_text(static_cast<int64_t>(tournament.too_large)),
               tournament.complete ? "" : "; the search stopped after them");
  for (size_t place = 0; place < tournament.entrants.size(); ++place) {
    const Entrant& e = tournament.entrants[place];
    if (e.split.name == "megatron" && e.tp > 1) {
      fmt::print("megatron's best is place {}: T = {}, D = {}, {:.2f} ms\n", place + 1, e.tp, e.dp,
                 e.seconds * 1e3);
      break;
    }
  }
  print_hanging("",
                fmt::format("times estimated on {} ({}); memory planned", hardware.title, hardware.basis));
}

void print_runs(const std::vector<CalibrationCheck>& checks, const std::vector<size_t>& places) {
  if (checks.empty()) return;
  fmt::print("\n{:>5} {:>14} {:>14} {:>14} {:>8}\n", "place", "predicted", "measured", "median", "");
  for (size_t i = 0; i < checks.size(); ++i) {
    const CalibrationCheck& check = checks[i];
    fmt::print("{:>5} {:>11.2f} ms {:>11.2f} ms {:>11.2f} ms {:>+7.1f}%\n", places[i] + 1,
               check.times.predicted_seconds * 1e3, check.times.measured_seconds * 1e3,
               check.median_seconds * 1e3, 100 * check.times.error());
  }
  const PairOrder order = order_of(measured_seconds(checks));
  fmt::print("{} of {} pairs are in the predicted order; measured on {}, the fastest of the runs\n",
             order.agree, order.pairs, checks.front().times.measured_on);
}

}  // namespace

std::string no_time_text(const Hardware& hardware, DType dtype) {
  return fmt::format(
      "the preset {} has no speed for {} ({}); measure this machine with bench calibrate "
      "--dtype {}, or give another --hardware",
      hardware.name, to_string(dtype), hardware.basis, to_string(dtype));
}

int print_tournament(const Settings& settings, const TournamentWish& wish, bool json) {
  const Hardware& hardware = find_hardware(settings.hardware);
  const int ranks = wish.ranks > 0 ? wish.ranks : settings.tp * settings.dp;
  const int64_t limit =
      wish.memory_bytes > 0 ? static_cast<int64_t>(wish.memory_bytes) : memory_of_a_rank(hardware, ranks);
  if (wish.run > 0 && !hardware.is_calibrated())
    throw request_error(fmt::format(
        "--run compares predictions with this machine: measure it first with bench calibrate, and "
        "give --hardware {}",
        kThisMachine));
  if (hardware.flops(settings.dtype) <= 0)
    throw request_error("a tournament ranks by predicted time, but no time can be predicted: " +
                        no_time_text(hardware, settings.dtype));
  const auto begin = std::chrono::steady_clock::now();
  const Tournament tournament = hold_tournament(settings, ranks, hardware, limit, wish.listed);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<CalibrationCheck> checks;
  for (size_t i = 0; i < std::min(tournament.listed.size(), static_cast<size_t>(std::max(0, wish.run)));
       ++i) {
    const Entrant& entrant = tournament.entrants[tournament.listed[i]];
    checks.push_back(check_calibration(settings_of(settings, entrant), hardware, 3));
  }
  if (!json) {
    print(tournament, settings, hardware, ranks, seconds);
    print_runs(checks, tournament.listed);
    return 0;
  }
  ordered_json listed = ordered_json::array(), runs = ordered_json::array();
  for (const size_t place : tournament.listed) listed.push_back(to_json(tournament.entrants[place], place));
  for (size_t i = 0; i < checks.size(); ++i)
    runs.push_back({{"place", tournament.listed[i] + 1},
                    {"predicted_seconds", checks[i].times.predicted_seconds},
                    {"measured_seconds", checks[i].times.measured_seconds},
                    {"median_seconds", checks[i].median_seconds}});
  ordered_json out = {{"ranks", ranks},
                      {"plans", tournament.entrants.size()},
                      {"programs", tournament.programs},
                      {"not_legal", tournament.not_legal},
                      {"too_large", tournament.too_large},
                      {"memory_limit_bytes", limit},
                      {"listed", listed},
                      {"predicted_on", hardware.title},
                      {"basis", hardware.basis},
                      {"plan_seconds", seconds}};
  if (!checks.empty()) {
    const PairOrder order = order_of(measured_seconds(checks));
    out["runs"] = runs;
    out["pairs_in_order"] = order.agree;
    out["pairs"] = order.pairs;
    out["measured_on"] = machine_description(settings);
  }
  fmt::print("{}\n", json_text(out));
  return 0;
}

int print_figures(bool json) {
  const std::vector<WorkedFigure> figures = all_figures();
  if (json) {
    ordered_json rows = ordered_json::array();
    for (const WorkedFigure& figure : figures) {
      rows.push_back({{"what", figure.what},
                      {"source", figure.source},
                      {"printed", figure.printed},
                      {"formula", figure.formula},
                      {"by_formula", figure.by_formula},
                      {"exact", figure.exact},
                      {"unit", figure.unit},
                      {"reason", figure.reason}});
    }
    fmt::print("{}\n", json_text(ordered_json{{"figures", rows}}));
    return 0;
  }
  fmt::print(
      "Figures of the texts, and the Programs' exact values (planned and counted, on data-sheet figures)\n");
  for (const WorkedFigure& figure : figures) {
    fmt::print("\n{} ({})\n", figure.what, figure.source);
    fmt::print("  printed  {}\n", figure.printed);
    fmt::print("  formula  {} = {}\n", figure.formula, figure_text(figure.by_formula, figure.unit));
    fmt::print("  exact    {}{}\n", figure_text(figure.exact, figure.unit),
               figure.agrees() ? ", the same" : "");
    if (!figure.reason.empty()) fmt::print("  because  {}\n", figure.reason);
  }
  return 0;
}

int print_algebra(int ranks, bool json) {
  ordered_json rows = ordered_json::array();
  std::string table = fmt::format(
      "\n"
      "## What a sum allows\n"
      "\n"
      "X is a matrix of {} tokens and {} columns on {} ranks: the sum of one term for each rank (Partial), "
      "or cut by tokens (Sharded(0)) or by columns (Sharded(1)). Each rank runs the operation on its part, "
      "and the results are joined. The difference is to one rank with the whole of X. Run here in fp32.\n"
      "\n"
      "| operation | X | choice | results | largest difference | of numbers up to | verdict | because |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      lab::kTokens, lab::kHidden, ranks);
  for (const lab::Experiment& experiment : lab::experiments()) {
    for (const lab::Way& way : experiment.ways) {
      const lab::Outcome outcome = lab::run(experiment, way, ranks);
      table += fmt::format("| {} | {} | {} | {} | {:.2g} | {:.3g} | {} | {} |\n", experiment.name,
                           to_string(way.layout), way.name, to_string(way.joined), outcome.largest_difference,
                           outcome.largest_number, to_string(outcome.verdict), way.why);
      rows.push_back({{"operation", experiment.name},
                      {"formula", experiment.formula},
                      {"operand", experiment.operand},
                      {"layout", to_string(way.layout)},
                      {"choice", way.name},
                      {"results", to_string(way.joined)},
                      {"largest_difference", outcome.largest_difference},
                      {"largest_number", outcome.largest_number},
                      {"verdict", to_string(outcome.verdict)},
                      {"because", way.why}});
    }
  }
  if (json)
    fmt::print("{}\n", json_text(ordered_json{{"ranks", ranks}, {"runs", rows}}));
  else
    fmt::print("{}{}", algebra_table(), table);
  return 0;
}

int print_scaling(Settings settings, int repetitions, bool json) {
  const std::vector<ScalingPoint> points = paper_scaling();
  const MeasuredScaling measured = measure_scaling(settings, repetitions);
  // The paper's largest model at the border of a node, on newer machines.
  std::vector<std::pair<const Hardware*, BreakEven>> crossings;
  for (const char* name : {"a100-80gb", "h100-80gb", "h200-141gb"}) {
    Settings crossing = paper_settings("megatron-8.3b", 8, 1);
    crossings.emplace_back(&find_hardware(name), break_even(crossing, find_hardware(name)));
  }
  if (json) {
    ordered_json paper = ordered_json::array(), here = ordered_json::array(), across = ordered_json::array();
    for (const ScalingPoint& p : points) {
      ordered_json row = {{"series", to_string(p.series)},
                          {"model", p.model},
                          {"tp", p.tp},
                          {"dp", p.dp},
                          {"heads", p.heads},
                          {"paper", nullptr},
                          {"estimated", p.estimated},
                          {"estimated_if_hidden", p.if_hidden},
                          {"estimated_flops_per_second", p.flops_per_second}};
      if (p.paper) row["paper"] = *p.paper;
      paper.push_back(row);
    }
    for (const MeasuredPoint& p : measured.points)
      here.push_back(
          {{"series", to_string(p.series)},
           {"tp", p.tp},
           {"hidden", p.hidden},
           {"heads", p.heads},
           {"measured_seconds", p.seconds},
           {"measured_flops_per_second", p.flops_per_second},
           {p.series == ScalingSeries::Strong ? "measured_speed_up" : "measured_efficiency", p.value}});
    for (const auto& [hardware, even] : crossings)
      across.push_back({{"predicted_on", hardware->title},
                        {"tp", even.tp},
                        {"compute_seconds", even.compute_seconds},
                        {"near_seconds", even.near_seconds},
                        {"far_seconds", even.far_seconds},
                        {"ratio", even.ratio()},
                        {"break_even_ratio", even.break_even_ratio()},
                        {"pays", even.pays()}});
    fmt::print("{}\n", json_text(ordered_json{{"predicted_on", paper_hardware().title},
                                              {"basis", paper_hardware().basis},
                                              {"paper", paper},
                                              {"crossing", across},
                                              {"measured_on", measured.machine},
                                              {"measured", here}}));
    return 0;
  }
  print_hanging("",
                fmt::format("The paper's points (measured there, 2019) and the model's curve (estimated on "
                            "{}: {})",
                            paper_hardware().title, paper_hardware().basis));
  std::string series;
  for (const ScalingPoint& p : points) {
    if (to_string(p.series) != series) {
      series = to_string(p.series);
      fmt::print("\n{:<18} {:<30} {:>4} {:>4} {:>6} {:>8} {:>14} {:>12}\n", series, "model", "T", "D",
                 "heads", "paper", "estimated", "PFLOP/s est.");
    }
    const bool speed_up = p.series == ScalingSeries::Strong;
    const auto text = [&](double value) {
      return speed_up ? fmt::format("{:.2f}", value) : fmt::format("{:.0f} %", 100 * value);
    };
    const std::string estimate =
        text(p.estimated) + (p.if_hidden > p.estimated ? fmt::format(" … {}", text(p.if_hidden)) : "");
    fmt::print("{:<18} {:<30} {:>4} {:>4} {:>6} {:>8} {:>14} {:>12.3f}\n", "", p.model, p.tp, p.dp, p.heads,
               p.paper ? text(*p.paper) : "", estimate, p.flops_per_second / 1e15);
  }
  fmt::print("\n15.1 PFLOP/s on 512 GPUs are {:.1f} % of 512 times 39 TFLOP/s (the paper prints 76 %)\n",
             100 * 15.1e15 / (512 * 39e12));
  fmt::print(
      "With replicas: from no overlap to all-reduces fully hidden behind the backward pass. The estimate "
      "leaves out\nslow small products, launches and the framework. So strong scaling is an upper bound, and "
      "the bound is looser\nthe less a GPU has to do. Heads make no difference to it, because they change no "
      "FLOPs.\n");
  fmt::print("\nCrossing the node, one layer of 8.3 B forward and backward, batch 8 (estimated)\n");
  fmt::print(
      "doubling T pays while C/K > 2 (K'/K - 1): C computes, K communicates on T, K' on 2T across nodes\n");
  for (const auto& [hardware, even] : crossings)
    fmt::print(
        "  {:<12} T {} → {}: C {:.3f} ms, K {:.3f} ms, K' {:.3f} ms: C/K = {:.2f}, break-even {:.2f}: {}\n",
        hardware->title, even.tp, 2 * even.tp, even.compute_seconds * 1e3, even.near_seconds * 1e3,
        even.far_seconds * 1e3, even.ratio(), even.break_even_ratio(), even.pays() ? "pays" : "does not pay");
  fmt::print(
      "  if the far link has a tenth of the near link's bandwidth and hops cost nothing: break-even "
      "{:.2f}\n",
      2 * (10 * (15.0 / 16) / (7.0 / 8) - 1));
  fmt::print("\nThis machine, one layer of {}, {}, batch {} × sequence {}, a core a rank (measured on {})\n",
             settings.model.title, to_string(measured.layer.dtype), measured.layer.batch, measured.layer.seq,
             measured.machine);
  for (const MeasuredPoint& p : measured.points)
    fmt::print("  {:<8} T = {:<3} hidden {:<6} heads {:<4} {:>9.2f} ms  {}\n", to_string(p.series), p.tp,
               p.hidden, p.heads, p.seconds * 1e3,
               p.series == ScalingSeries::Strong
                   ? fmt::format("{:.2f} times as fast as T = 1", p.value)
                   : fmt::format("{:.0f} % of the FLOP/s of T = 1, a rank", 100 * p.value));
  return 0;
}

}  // namespace shardlens::cli
