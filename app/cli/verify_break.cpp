// `verify --break`: runs planted faults and prints which check finds each.
#include "app/cli/verify_break.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/cli/coverage.h"
#include "app/cli/table.h"
#include "engine/base/error.h"
#include "engine/io/json_text.h"
#include "engine/planner/break_settings.h"
#include "engine/train/data/train_data.h"
#include "engine/train/experiments/break_run.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

BreakReport run_broken(const Settings& settings, Fault fault, int64_t steps,
                       std::optional<int> replica = {}) {
  std::shared_ptr<const BatchSource> batches;
  if (steps > 0) {
    const TrainData data = open_built_in_text(settings.model);
    batches = make_batches(data.train, *data.tokenizer, settings, settings.seed);
  }
  BreakRequest request{settings, fault, steps};
  request.replica = replica;
  BreakRun run(request, batches, kBuiltInText);
  while (!run.done()) run.step();
  return run.report();
}

const std::string& name_of(const BreakReport& report, TensorId tensor) {
  return report.plan->program.tensor(tensor).name;
}

std::string error_text(double error) {
  return std::isfinite(error) ? fmt::format("{:.2e}", error) : "not zero";
}

// JSON has no infinity.
ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json to_json(const BreakReport& report, const Finding& finding) {
  ordered_json json = {{"check", to_string(finding.check)}, {"sees", finding.sees}};
  if (!finding.sees) return json;
  json["step"] = finding.step;
  if (finding.tensor != kNoTensor) {
    json["tensor"] = name_of(report, finding.tensor);
    json["on"] = place_json(finding.replica, finding.rank);
  }
  json["relative_error"] = number(finding.error);
  return json;
}

ordered_json to_json(const BreakReport& report, const BreakProbe& probe) {
  const Program& program = report.plan->program;
  ordered_json json = {{"step", probe.step}};
  if (probe.finds()) {
    const TensorError& first = probe.first_error();
    json["first_broken"] = name_of(report, first.tensor);
    json["first_broken_step"] = first.step;
    json["first_broken_on"] = place_json(first.replica, first.rank);
  }
  add_coverage(json, probe.coverage, &program);
  for (const Phase phase : {Phase::Forward, Phase::Backward, Phase::Update}) {
    const Spread one = spread(program, probe, phase);
    json[to_string(phase)] = {
        {"compared", one.compared}, {"broken", one.broken}, {"worst", number(one.worst)}};
  }
  ordered_json tensors = ordered_json::array();
  for (const TensorError& error : probe.errors) {
    tensors.push_back({{"tensor", name_of(report, error.tensor)},
                       {"step", error.step},
                       {"relative_error", number(error.relative_error)},
                       {"relative_to", error.relative_to_terms ? "its terms" : "itself"},
                       {"ranks_identical", error.ranks_identical},
                       {"within_bound", !error.broken}});
  }
  json["tensors"] = tensors;
  return json;
}

ordered_json to_json(const BreakReport& report) {
  ordered_json json = {{"fault", to_string(report.fault)},
                       {"sentence", facts_of(report.fault).sentence},
                       {"how_to_see", how_to_see(report)}};
  ordered_json checks = ordered_json::array(), steps = ordered_json::array(), probes = ordered_json::array();
  for (const Finding& finding : findings(report)) checks.push_back(to_json(report, finding));
  for (const BreakStep& step : report.steps) {
    steps.push_back({{"sound_loss", step.sound_loss},
                     {"broken_loss", step.broken_loss},
                     {"sound_gradient_norm", step.sound_norm},
                     {"broken_gradient_norm", step.broken_norm}});
  }
  for (const auto& probe : report.probes) probes.push_back(to_json(report, *probe));
  json["checks"] = checks;
  if (const LossVerdict loss = loss_verdict(report); loss.steps > 0) {
    json["loss"] = {{"last_steps", loss.steps},      {"sound", loss.sound},
                    {"broken", loss.broken},         {"apart", loss.apart},
                    {"step_to_step", loss.ordinary}, {"looks_healthy", loss.looks_healthy}};
  }
  if (!report.ended.empty()) json["ended"] = report.ended;
  json["steps"] = steps;
  json["probes"] = probes;
  return json;
}

void print_curves(const BreakReport& report) {
  fmt::print("{:>5} {:>10} {:>10} {:>11} {:>12} {:>12}\n", "step", "sound", "broken", "difference",
             "norm sound", "broken");
  for (size_t i = 0; i < report.steps.size(); ++i) {
    const BreakStep& step = report.steps[i];
    fmt::print("{:>5} {:>10.5f} {:>10.5f} {:>11.2e} {:>12.4g} {:>12.4g}\n", i + 1, step.sound_loss,
               step.broken_loss, step.broken_loss - step.sound_loss, step.sound_norm, step.broken_norm);
  }
}

void print_spread(const BreakReport& report, const BreakProbe& probe) {
  const Program& program = report.plan->program;
  fmt::print(
      "step {:>3}: {}", probe.step,
      probe.finds() ? "begins at " + name_of(report, probe.first_error().tensor) : "every tensor is right");
  for (const Phase phase : {Phase::Forward, Phase::Backward}) {
    const Spread one = spread(program, probe, phase);
    if (one.broken > 0)
      fmt::print("; {} {} of {} wrong, worst {}", to_string(phase), one.broken, one.compared,
                 error_text(one.worst));
  }
  fmt::print("\n");
}

// Prints every tensor of the first pass in which a tensor is wrong.
void print_errors(const BreakReport& report) {
  const auto found = std::find_if(report.probes.begin(), report.probes.end(),
                                  [](const auto& probe) { return probe->finds(); });
  if (found == report.probes.end()) return;
  fmt::print("\nstep {}, tensor by tensor\n{:<52} {:<10} {:>14}\n", (*found)->step, "tensor", "pass",
             "relative error");
  for (const TensorError& error : (*found)->errors) {
    const std::string pass =
        error.step < 0 ? "weight" : to_string(report.plan->program.step(error.step).phase);
    fmt::print("{:<52} {:<10} {:>14} {}{}{}\n", name_of(report, error.tensor), pass,
               error_text(error.relative_error), error.relative_to_terms ? "of its terms, " : "",
               error.broken ? "BROKEN" : "ok", error.ranks_identical ? "" : ", ranks differ");
  }
}

std::string title(const Settings& settings) {
  return fmt::format("{} · {} · T = {}{} · split {} · {} · batch {} × sequence {}", settings.model.title,
                     settings.block == Block::Model ? "whole model" : "one " + to_string(settings.block),
                     settings.tp, settings.dp > 1 ? fmt::format(", D = {}", settings.dp) : "",
                     settings.split.name, to_string(settings.dtype), settings.batch, settings.seq);
}

void require_whole_model(const Settings& settings) {
  if (settings.block == Block::Model) return;
  throw request_error(
      "one layer cannot be trained: leave out --layer and --block, and choose a small model such as "
      "gpt2-tiny");
}

// Removes `end` from the end of the text, if it is there.
std::string before(const std::string& text, std::string_view end) {
  return text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text;
}

std::string on_replica(const BreakReport& report, const Finding& finding) {
  const std::string place = report.plan->program.dp() > 1 ? place_words(finding.replica, finding.rank) : "";
  return place.empty() ? "" : ", on " + place;
}

bool is_found(const BreakReport& report) {
  return std::any_of(report.probes.begin(), report.probes.end(),
                     [](const auto& probe) { return probe->finds(); });
}

}  // namespace

int break_and_train(const Settings& settings, Fault fault, std::optional<int> replica, int64_t steps,
                    bool json) {
  require_whole_model(settings);
  const BreakReport report = run_broken(settings, fault, steps, replica);
  if (json) {
    fmt::print("{}\n", json_text(to_json(report)));
    return is_found(report) ? 1 : 0;
  }
  const FaultFacts& facts = facts_of(fault);
  const std::string alone = replica ? fmt::format(", in replica {} alone", *replica) : "";
  fmt::print("{}\n{}{}: {}\n{}, {} steps\n\n", title(settings), facts.name, alone, facts.sentence,
             report.text, steps);
  print_curves(report);
  print_errors(report);
  fmt::print("\nWhere it begins, and how it spreads in one pass, from the broken run's own weights\n");
  for (const auto& probe : report.probes) print_spread(report, *probe);
  fmt::print("\nWhich check finds it\n");
  for (const Finding& finding : findings(report)) {
    const std::string what =
        !finding.sees ? "nothing"
        : finding.tensor == kNoTensor
            ? fmt::format("{:.2g} apart", finding.error)
            : fmt::format("step {}, {}, {}{}", finding.step, name_of(report, finding.tensor),
                          error_text(finding.error), on_replica(report, finding));
    fmt::print("  {:<50} {}\n", to_string(finding.check), what);
  }
  if (!report.probes.empty()) {
    const Coverage& coverage = report.probes.front()->coverage;
    fmt::print("\nIn each pass {} compared.\n", compared_words(coverage));
    print_left_out(report.plan->program, coverage);
  }
  fmt::print("\n{}\n", how_to_see(report));
  return is_found(report) ? 1 : 0;
}

int break_all(const Settings& settings, int64_t steps, bool json) {
  if (steps > 0) require_whole_model(settings);
  ordered_json rows = ordered_json::array();
  bool any = false;
  if (!json) {
    fmt::print("{}{}\n\n", title(settings),
               steps > 0 ? fmt::format(" · {} steps on {}", steps, kBuiltInText) : "");
    fmt::print("{:<21} {:>4} {:<27} {:>8}  {}{}\n", "fault", "step", "begins at", "error",
               steps > 0 ? fmt::format("{:<26}", "loss, sound and broken") : "", "found by");
  }
  for (const Fault fault : all_faults()) {
    const std::optional<BreakSettings> possible = break_settings(settings, fault);
    if (!possible) {
      const FaultFacts& facts = facts_of(fault);
      const std::string needs = fmt::format("{}: {}", facts.needs, facts.options);
      if (json) rows.push_back({{"fault", facts.name}, {"needs", needs}});
      if (!json) fmt::print("{:<21} needs {}\n", facts.name, needs);
      continue;
    }
    const BreakReport report = run_broken(possible->settings, fault, steps);
    any |= is_found(report);
    if (json) {
      ordered_json row = to_json(report);
      row["options"] = possible->options;
      rows.push_back(std::move(row));
      continue;
    }
    const std::optional<Finding> first = first_finding(report);
    const LossVerdict loss = loss_verdict(report);
    const bool names = first && first->tensor != kNoTensor;
    const std::string curve =
        steps == 0 ? ""
        : loss.steps == 0
            ? fmt::format("{:<26}", report.ended.empty() ? "too few steps" : "ended")
            : fmt::format("{:<26}", fmt::format("{:.3f} {:.3f} {}", loss.sound, loss.broken,
                                                loss.looks_healthy ? "looks healthy" : "shows"));
    fmt::print("{:<21} {:>4} {:<27} {:>8}  {}{}\n", to_string(fault),
               first ? std::to_string(first->step) : "-",
               names ? shortened(name_of(report, first->tensor), 27) : "-",
               names ? error_text(first->error) : "-", curve,
               first ? before(to_string(first->check), " against a right run")
                     : std::string("no check in this run"));
    if (!possible->options.empty()) fmt::print("  with {}\n", possible->options);
  }
  if (!json)
    fmt::print("\nActivations, gradients and their norm are compared with those of a correct run.\n");
  if (json) fmt::print("{}\n", json_text(ordered_json{{"faults", rows}}));
  return any ? 1 : 0;
}

}  // namespace shardlens::cli
