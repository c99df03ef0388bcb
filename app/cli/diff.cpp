// `diff`: compares two recordings, or a recording with the same run made again here. It prints where the
// values first differ and what took longer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/verbs.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/record/diff.h"
#include "engine/record/gallery.h"
#include "engine/train/experiments/run_again.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostListed = 12;  // the most important rows; a full table would hide them

std::string ratio(double a, double b) {
  return a > 0 ? fmt::format("{:.2f}", b / a) : "";
}

std::string pass_words(int64_t passes) {
  return counted(passes, "pass", "passes");
}

std::string run_words(const Recording& recording, int64_t passes) {
  const Settings& s = recording.header().program.settings;
  return fmt::format("`{}` of {} · T = {} · D = {} · split {} · {} · batch {} × sequence {} · {} · {}",
                     recording.header().verb, s.model.title, s.tp, s.dp, s.split.name, to_string(s.dtype),
                     s.batch, s.seq, pass_words(passes), recording.header().machine);
}

std::string step_words(const Program& program, StepId step) {
  return step < 0 ? "which is their input"
                  : fmt::format("which step {}, {}, computes: {}", step, program.step(step).name,
                                program.step(step).equation);
}

void print_names(const char* whose, const Program& program, const std::vector<StepId>& steps) {
  if (steps.empty()) return;
  fmt::print("only in {}: {}", whose, counted(static_cast<int64_t>(steps.size()), "step"));
  for (size_t i = 0; i < std::min(steps.size(), kMostListed); ++i)
    fmt::print("{} {}", i == 0 ? ":" : ",", program.step(steps[i]).name);
  fmt::print("{}\n", steps.size() > kMostListed ? " …" : "");
}

void print_parting(const RecordingDiff& diff, const Program& a) {
  if (!diff.compared_values()) {
    fmt::print(
        "no values were compared: no pass has hashes or a loss in both. Record both with --record-pictures "
        "all.\n");
    return;
  }
  const std::string of_passes =
      diff.b_offset == 0 ? "" : fmt::format(" of A, pass {} of B", diff.parting ? diff.parting->b_pass : 0);
  if (!diff.parting) {
    int64_t metrics = 0;
    for (const MetricDiff& one : diff.metrics) metrics += one.is_time ? 0 : one.passes;
    fmt::print("the same values: {} of {} and {} are equal\n",
               counted(diff.compared_hashes, "hash", "hashes"), pass_words(diff.hashed_passes),
               counted(metrics, "metric"));
  } else if (!diff.parting->metric.empty()) {
    const auto metric = std::find_if(diff.metrics.begin(), diff.metrics.end(),
                                     [&](const MetricDiff& one) { return one.name == diff.parting->metric; });
    fmt::print(
        "they part in pass {}{}: {} is {:.9g} and {:.9g}. The first tensor that differs is not known: that "
        "pass does not have hashes in both.\n",
        diff.parting->a_pass, of_passes, metric->name, metric->a, metric->b);
  } else {
    const Parting& parting = *diff.parting;
    fmt::print(
        "they part in pass {}{}{} at {}, {} (rank {}: {:016x} and {:016x}); {} of {} tensors of this "
        "pass differ\n",
        parting.a_pass, of_passes, diff.in_other_dtype > 0 ? ", at the latest" : "",
        a.tensor(parting.a_tensor).name, step_words(a, parting.a_step), parting.rank, parting.a_hash,
        parting.b_hash, parting.differing, parting.compared);
  }
  for (const std::string& sentence : diff.not_compared()) fmt::print("{}\n", sentence);
}

void print_times(const RecordingDiff& diff, const Program& a) {
  if (diff.timed_passes == 0) {
    fmt::print("\nno pass is in both\n");
    return;
  }
  const auto row = [](const std::string& name, double of_a, double of_b) {
    fmt::print("  {:<32} {:>10.3f} ms {:>10.3f} ms {:>8}\n", name, of_a * 1e3, of_b * 1e3, ratio(of_a, of_b));
  };
  fmt::print("\n{:<34} {:>13} {:>13} {:>8}\n", fmt::format("mean of {}", pass_words(diff.timed_passes)), "A",
             "B", "B / A");
  row("a pass", diff.a_pass_seconds, diff.b_pass_seconds);
  double a_wait = 0, b_wait = 0;
  for (const KindDiff& kind : diff.kinds) {
    row(op_name(kind.op, kind.overlapped), kind.a_seconds, kind.b_seconds);
    if (kind.overlapped) continue;
    a_wait += kind.a_wait_seconds;
    b_wait += kind.b_wait_seconds;
  }
  row("waiting", a_wait, b_wait);
  std::vector<StepDiff> steps = diff.steps;
  std::stable_sort(steps.begin(), steps.end(), [](const StepDiff& x, const StepDiff& y) {
    return std::abs(x.b_seconds - x.a_seconds) > std::abs(y.b_seconds - y.a_seconds);
  });
  fmt::print("the steps that differ most\n");
  for (size_t i = 0; i < std::min(steps.size(), kMostListed); ++i)
    row(fmt::format("{} {}", steps[i].a, a.step(steps[i].a).name), steps[i].a_seconds, steps[i].b_seconds);
}

void print_bytes(const RecordingDiff& diff) {
  const auto row = [](const std::string& name, int64_t a, int64_t b) {
    fmt::print("  {:<32} {:>13} {:>13} {:>8}\n", name, bytes_text(static_cast<double>(a)),
               bytes_text(static_cast<double>(b)), ratio(static_cast<double>(a), static_cast<double>(b)));
  };
  fmt::print("\n");
  row("each rank sends", diff.a_sent_bytes, diff.b_sent_bytes);
  for (const MemoryDiff& memory : diff.memory)
    row(to_string(memory.kind) + ", high-water", memory.a_bytes, memory.b_bytes);
}

void print_metrics(const RecordingDiff& diff) {
  for (const MetricDiff& metric : diff.metrics) {
    if (metric.is_time) continue;
    if (metric.first < 0)
      fmt::print("  {:<32} equal in {}\n", metric.name, pass_words(metric.passes));
    else
      fmt::print("  {:<32} differs from pass {} on ({:.9g} and {:.9g}), by {:.3g} at most\n", metric.name,
                 metric.first, metric.a, metric.b, metric.largest);
  }
}

ordered_json to_json(const RecordingDiff& diff, const Recording& a, const Recording& b) {
  const Program &of_a = a.header().program, &of_b = b.header().program;
  const auto number = [](double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
  };
  ordered_json out;
  out["same_values"] = diff.compared_values() ? ordered_json(!diff.parting) : ordered_json();
  if (diff.parting) {
    const Parting& parting = *diff.parting;
    out["parting"] = {{"a_pass", parting.a_pass}, {"b_pass", parting.b_pass}};
    if (!parting.metric.empty()) {
      out["parting"]["metric"] = parting.metric;
    } else {
      out["parting"]["tensor"] = of_a.tensor(parting.a_tensor).name;
      out["parting"]["step"] = parting.a_step;
      if (parting.a_step >= 0) out["parting"]["step_name"] = of_a.step(parting.a_step).name;
      out["parting"]["rank"] = parting.rank;
      out["parting"]["a_hash"] = fmt::format("{:016x}", parting.a_hash);
      out["parting"]["b_hash"] = fmt::format("{:016x}", parting.b_hash);
      out["parting"]["differing_tensors"] = parting.differing;
      out["parting"]["compared_tensors"] = parting.compared;
    }
  }
  for (const auto& [key, recording, passes] :
       {std::tuple{"a", &a, diff.a_passes}, std::tuple{"b", &b, diff.b_passes}})
    out[key] = {{"verb", recording->header().verb},
                {"machine", recording->header().machine},
                {"passes", passes},
                {"pass_seconds", key[0] == 'a' ? diff.a_pass_seconds : diff.b_pass_seconds}};
  out["settings"] = ordered_json::array();
  for (const SettingDiff& one : diff.settings)
    out["settings"].push_back({{"key", one.key}, {"a", one.a}, {"b", one.b}});
  out["same_program"] = diff.same_program;
  out["shared_passes"] = diff.shared_passes;
  out["timed_passes"] = diff.timed_passes;
  out["hashed_passes"] = diff.hashed_passes;
  out["compared_hashes"] = diff.compared_hashes;
  out["not_comparable_hashes"] = diff.cut_otherwise + diff.in_other_dtype;
  out["not_compared"] = diff.not_compared();
  out["hashes_of_another_dtype"] = diff.in_other_dtype;
  out["steps"] = ordered_json::array();
  for (const StepDiff& step : diff.steps)
    out["steps"].push_back({{"a_step", step.a},
                            {"b_step", step.b},
                            {"name", of_a.step(step.a).name},
                            {"op", to_string(of_a.step(step.a).op)},
                            {"a_seconds", step.a_seconds},
                            {"b_seconds", step.b_seconds},
                            {"a_wait_seconds", step.a_wait_seconds},
                            {"b_wait_seconds", step.b_wait_seconds},
                            {"a_sent_bytes", step.a_sent_bytes},
                            {"b_sent_bytes", step.b_sent_bytes}});
  out["kinds"] = ordered_json::array();
  for (const KindDiff& kind : diff.kinds)
    out["kinds"].push_back({{"op", op_name(kind.op, kind.overlapped)},
                            {"a_seconds", kind.a_seconds},
                            {"b_seconds", kind.b_seconds},
                            {"a_wait_seconds", kind.a_wait_seconds},
                            {"b_wait_seconds", kind.b_wait_seconds}});
  out["a_sent_bytes"] = diff.a_sent_bytes;
  out["b_sent_bytes"] = diff.b_sent_bytes;
  out["only_a"] = ordered_json::array();
  for (const StepId step : diff.only_a) out["only_a"].push_back(of_a.step(step).name);
  out["only_b"] = ordered_json::array();
  for (const StepId step : diff.only_b) out["only_b"].push_back(of_b.step(step).name);
  out["high_water"] = ordered_json::array();
  for (const MemoryDiff& one : diff.memory)
    out["high_water"].push_back(
        {{"kind", to_string(one.kind)}, {"a_bytes", one.a_bytes}, {"b_bytes", one.b_bytes}});
  out["metrics"] = ordered_json::array();
  for (const MetricDiff& one : diff.metrics)
    out["metrics"].push_back(
        {{"name", one.name},
         {"passes", one.passes},
         {"first_different_pass", one.first < 0 ? ordered_json() : ordered_json(one.first)},
         {"a", number(one.a)},
         {"b", number(one.b)},
         {"largest_difference", number(one.largest)}});
  return out;
}

int compare(const Recording& a, const Recording& b, const std::string& a_name, const std::string& b_name,
            bool as_json) {
  const RecordingDiff diff = diff_recordings(a, b);
  const int code = diff.parting ? 1 : 0;
  if (as_json) {
    fmt::print("{}\n", json_text(to_json(diff, a, b)));
    return code;
  }
  const Program& of_a = a.header().program;
  fmt::print("A  {}: {}\n", a_name, run_words(a, diff.a_passes));
  fmt::print("B  {}: {}\n\n", b_name, run_words(b, diff.b_passes));
  print_parting(diff, of_a);
  if (diff.settings.empty()) fmt::print("the same settings");
  for (size_t i = 0; i < diff.settings.size(); ++i)
    fmt::print("{}{}: {} → {}", i == 0 ? "settings: " : "; ", diff.settings[i].key, diff.settings[i].a,
               diff.settings[i].b);
  fmt::print("\n{}\n", diff.same_program ? "the same Program, step for step"
                                         : fmt::format("{} steps are in both Programs", diff.steps.size()));
  print_names("A", of_a, diff.only_a);
  print_names("B", b.header().program, diff.only_b);
  print_times(diff, of_a);
  print_bytes(diff);
  print_metrics(diff);
  return code;
}

}  // namespace

Verb add_diff(CLI::App& app) {
  auto a = std::make_shared<std::string>();
  auto b = std::make_shared<std::string>();
  auto live = std::make_shared<bool>(false);
  auto as_json = std::make_shared<bool>(false);
  app.add_option("a", *a, "FILE.shardlens, or gallery:NAME")->required();
  app.add_option("b", *b, "FILE.shardlens, gallery:NAME, or --live");
  app.add_flag("--live", *live,
               "Runs A's settings here, with as many passes as A, and compares with that run");
  app.add_flag("--json", *as_json, "One JSON object on stdout, nothing else");
  app.footer(
      "\nPasses are matched by number (training steps by step number), steps by name, layer and phase.\n"
      "Exit code 0: all hashes and losses are equal; 1: they are not. Times do not count.\n"
      "\nExamples\n  shardlens-cli diff monday.shardlens tuesday.shardlens\n"
      "  shardlens-cli diff server.shardlens --live          the same run, on this machine\n");
  return [a, b, live, as_json] {
    if (*live == !b->empty())
      throw request_error(*live ? "give a second recording or --live, not both"
                                : "give a second recording, or --live to compare with a run made here");
    const Recording first(recording_path(*a));
    if (!*live) return compare(first, Recording(recording_path(*b)), *a, *b, *as_json);
    RunAgain again;
    run_whole(again.run(first, *a));
    return compare(first, Recording(again.path()), *a, "run here", *as_json);
  };
}

}  // namespace shardlens::cli
