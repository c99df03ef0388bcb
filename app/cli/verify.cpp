// `verify`: compares the sharded run with the serial run, tensor by tensor. If a bound is broken it names the
// first tensor and returns exit code 1.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/coverage.h"
#include "app/cli/late_report.h"
#include "app/cli/options.h"
#include "app/cli/record.h"
#include "app/cli/table.h"
#include "app/cli/verbs.h"
#include "app/cli/verify_break.h"
#include "app/cli/verify_sweep.h"
#include "app/command_line/request.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/io/json_text.h"
#include "engine/planner/break_settings.h"
#include "engine/planner/planner.h"
#include "engine/program/fault.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/measure/sweep.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/sampler.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

void run_once(const std::shared_ptr<const Plan>& plan, std::shared_ptr<StepObserver> observer) {
  check_runnable(*plan);
  Executor executor(plan);
  executor.observe({std::make_shared<FiniteCheck>(plan->program.tp()), std::move(observer)});
  executor.start(executor.steps());
  executor.wait();
}

struct Checked {
  ParityTable table;
  std::vector<Lateness> late;
  int recorded = 0;  ///< what finish_recording() returned
};

// Runs and checks the plan. If the run is recorded it runs a second time without observers, for its times.
Checked run_checked(const std::shared_ptr<const Plan>& plan,
                    const std::shared_ptr<const SerialReference>& serial, const RecordOptions& record,
                    FILE* out) {
  check_runnable(*plan);
  const auto check = std::make_shared<ParityCheck>(plan->program, serial, !record.path.empty());
  Executor executor(plan);
  const auto recorder = make_recorder(record, "verify", *plan, executor.communicator());
  std::vector<std::shared_ptr<StepObserver>> observers{std::make_shared<FiniteCheck>(plan->program.tp()),
                                                       check};
  if (recorder && recorder->pictures()) observers.push_back(recorder->pictures());
  Checked checked;
  run_recorded(recorder, [&] {
    executor.observe(observers);
    executor.start(executor.steps());
    executor.wait();
    checked.table = check->results();
    checked.late = last_lateness(plan->program, executor);
    if (!recorder) return;
    executor.observe({});
    executor.rewind();
    executor.start(executor.steps());
    executor.wait();
    recorder->take(executor,
                   {{"worst_relative_error", summarise(plan->program, checked.table).worst_relative_error}},
                   checked.table);
  });
  checked.recorded = finish_recording(recorder.get(), record, out);
  return checked;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const Fault fault : all_faults()) names.push_back(to_string(fault));
  return names;
}

const char* relative_to(const TensorParity& parity) {
  return parity.relative_to_terms ? "its terms" : "itself";
}

std::string verdict(const TensorParity& parity) {
  if (!parity.ranks_identical) return "RANKS DIFFER";
  return std::string(parity.within_bound() ? "ok" : "BROKEN") +
         (parity.relative_to_terms ? ", of its terms" : "");
}

ordered_json to_json(const Program& program, const ParityTable& table, const ParitySummary& summary) {
  ordered_json tensors = ordered_json::array();
  for (const Tensor& tensor : program.tensors) {
    const auto& parity = table[static_cast<size_t>(tensor.id)];
    if (!parity) continue;
    tensors.push_back({{"tensor", tensor.name},
                       {"layout", to_string(tensor.layout)},
                       {"shape", tensor.shape},
                       {"relative_error", parity->relative_error},
                       {"relative_to", relative_to(*parity)},
                       {"max_abs_error", parity->max_abs_error},
                       {"bound", parity->bound},
                       {"ranks_identical", parity->ranks_identical},
                       {"within_bound", parity->within_bound()},
                       {"largest_on", place_json(parity->replica, parity->rank)}});
  }
  ordered_json out = {{"agrees", summary.agrees},
                      {"worst_relative_error", summary.worst_relative_error},
                      {"worst_tensor", program.tensor(summary.worst_tensor).name}};
  if (summary.first_broken != kNoTensor) {
    out["first_broken"] = program.tensor(summary.first_broken).name;
    const TensorParity& parity = *table[static_cast<size_t>(summary.first_broken)];
    out["first_broken_on"] = place_json(parity.replica, parity.rank);
    out["first_broken_on"]["step"] = producer_of(program, summary.first_broken);
  }
  add_coverage(out, summary.coverage, &program);
  out["tensors"] = tensors;
  return out;
}

// Where a tensor was compared, if it is on more than one rank.
std::string everywhere(const Program& program) {
  if (program.dp() == 1) return program.tp() == 1 ? "" : fmt::format(" on {} ranks", program.tp());
  return fmt::format(" on {} replicas of {}", program.dp(), counted(program.tp(), "rank"));
}

// ", most of it on rank 1 of replica 0"
std::string broken_on(const Program& program, const TensorParity& parity) {
  const bool is_sum_of_replicas = program.dp() > 1 && parity.replica < 0;
  if (is_sum_of_replicas) return ", in the sum over the replicas";
  const std::string place = program.tp() * program.dp() > 1 ? place_words(parity.replica, parity.rank) : "";
  return place.empty() ? "" : fmt::format(", most of it on {}", place);
}

void print(const Program& program, const ParityTable& table) {
  const Settings& s = program.settings;
  fmt::print("{} · {} · T = {}{} against T = 1 · split {} · {} · {} operands · batch {} × sequence {}\n\n",
             s.model.title, s.block == Block::Model ? "whole model" : "one " + to_string(s.block), s.tp,
             s.dp > 1 ? fmt::format(", D = {}", s.dp) : "", s.split.name, to_string(s.dtype),
             s.operands == Operands::Integer ? "integer" : "normal", s.batch, s.seq);
  Table lines({{"tensor", Table::Holds::Name},
               {"shape"},
               {"layout"},
               {"error", Table::Holds::Number},
               {"bound", Table::Holds::Number},
               {""}});
  for (const Tensor& tensor : program.tensors) {
    const auto& parity = table[static_cast<size_t>(tensor.id)];
    if (!parity) continue;
    lines.add({tensor.name, to_string(tensor.shape), to_string(tensor.layout),
               fmt::format("{:.3e}", parity->relative_error), fmt::format("{:.1e}", parity->bound),
               verdict(*parity)});
  }
  fmt::print("{}", lines.text());
}

}  // namespace

Verb add_verify(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  auto fault = std::make_shared<std::string>();
  auto replica = std::make_shared<int>(0);
  auto steps = std::make_shared<int64_t>(0);
  auto degrees = std::make_shared<std::string>();
  auto record = std::make_shared<RecordOptions>();
  add_common(app, *options);
  add_run_options(app, *options, {Part::Cache});
  add_run_options(app, *options, {Part::Delay});
  add_record_options(app, *record);
  add_overwrite(app);
  app.add_option(
      "--break", *fault,
      fmt::format("Plants a classic mistake and shows which check finds it; all: one after the other: {}",
                  fmt::join(fault_names(), ", ")));
  CLI::Option* replica_option = app.add_option(
      "--break-replica", *replica,
      "With --break and --dp: plants the mistake in this replica alone, 0 to D - 1; in all if left out");
  auto* steps_option = app.add_option("--steps", *steps,
                                      "With --break, for a whole model: trains it sound and broken, side by "
                                      "side on the built-in text, for this many steps, such as 50")
                           ->check(between(int64_t{1}, int64_t{100000}));
  CLI::Option* sweep =
      app.add_option(
             "--sweep", *degrees,
             "One table of several T, instead of --tp: 1,2,4,8,16, or the given ones such as 1,2,3. It has "
             "weights per rank, collectives, bytes, the worst error, predicted and measured time")
          ->expected(0, 1)
          ->type_name("[T,...]");
  app.footer(
      "\n"
      "Relative error is |sharded - serial| over the gathered tensor, relative to the tensor itself, "
      "|serial|. Where the terms that it was summed from cancel, to less than a quarter, it is relative to "
      "them: what is left is rounding, as in the gradient of attention to one key, which is zero. The bound "
      "is 5e-15 in fp64, 3e-6 in fp32, and 0 with integer operands but for what is no integer: gradients of "
      "biases and norms that ranks sum over their own tokens. Replicated tensors must also have the same "
      "bits on every rank. Replicas are compared too: the rows that a replica has of the batch, with the "
      "same "
      "rows of the serial tensor; weights and sums over the replicas, on each of them; terms of such a sum, "
      "added up. The last lines count what was compared and say what was left out, and why.\n"
      "\n"
      "Examples\n"
      "  shardlens-cli verify --model gpt2-tiny --tp 4 --dp 2\n"
      "  shardlens-cli verify --model gpt2 --layer --tp 4 --split reversed --dtype fp64\n"
      "  shardlens-cli verify --model bert-base --layer --tp 3 --operands integer\n"
      "  shardlens-cli verify --model gpt2 --layer --tp 2 --break skip-f\n"
      "  shardlens-cli verify --model gpt2-tiny --tp 2 --dp 2 --break skip-g --break-replica 1\n"
      "  shardlens-cli verify --model gpt2-tiny --tp 2 --seq 64 --break bias-before-reduction --steps 50\n"
      "  shardlens-cli verify --model gpt2-tiny --tp 2 --seq 64 --break all --steps 50\n"
      "  shardlens-cli verify --model gpt2-medium --layer --sweep\n"
      "  shardlens-cli verify --model gpt2-tiny --sweep 1,2,3,4 --dtype fp64\n"
      "  shardlens-cli verify --model gpt2 --layer --tp 4 --record layer.shardlens\n");
  return [options, fault, replica, replica_option, steps, steps_option, degrees, sweep, record] {
    Settings settings = to_settings(*options);
    const std::optional<int> only_in = replica_option->count() > 0 ? std::optional(*replica) : std::nullopt;
    if (only_in && (fault->empty() || *fault == "all" || sweep->count() > 0))
      throw request_error(
          "--break-replica is for one planted mistake at one T: add --break NAME, and leave out --sweep");
    if (steps_option->count() > 0 && fault->empty())
      throw request_error("--steps needs a planted mistake: add --break NAME, or --break all");
    if (!options->delays.empty() && (sweep->count() > 0 || !fault->empty()))
      throw request_error(fmt::format("--delay is for one sound run: leave out {}",
                                      sweep->count() > 0 ? "--sweep, and choose a T with --tp" : "--break"));
    if (sweep->count() > 0 || *fault == "all" || *steps > 0)
      refuse_recording(*record, "leave out --sweep and --steps, and name at most one mistake");
    if (sweep->count() > 0 && *fault == "all")
      throw request_error("--break all runs at one T: leave out --sweep, and choose T with --tp");
    if (sweep->count() > 0) {
      settings.update = settings.block == Block::Model;
      const std::optional<Fault> planted =
          fault->empty() ? std::nullopt : std::make_optional(parse_fault(*fault));
      return run_sweep(settings, parse_degrees(*degrees), planted, options->json);
    }
    if (*fault == "all") return break_all(settings, *steps, options->json);
    if (*steps > 0) return break_and_train(settings, parse_fault(*fault), only_in, *steps, options->json);
    settings.update =
        settings.block == Block::Model;  // at learning rate 0, so that norm and clipping are compared too
    const bool planted = !fault->empty();
    if (planted) settings.fusion = Fusion::Off;  // the broken Program is not fused either
    const std::shared_ptr<const Plan> plan =
        planted ? make_plan(plan_broken(settings, parse_fault(*fault), only_in)) : make_plan(settings);
    check_runnable(*plan);
    auto serial = std::make_shared<SerialReference>();
    run_once(make_plan(plan_serial(settings)), serial);
    const auto [table, late, recorded] = run_checked(plan, serial, *record, options->json ? stderr : stdout);
    const ParitySummary summary = summarise(plan->program, table);
    if (options->json) {
      ordered_json out = to_json(plan->program, table, summary);
      out["late"] = late_json(plan->program, late);
      fmt::print("{}\n", json_text(out));
    } else {
      print(plan->program, table);
      if (!late.empty()) fmt::print("\n");
      print_late(stdout, plan->program, late);
      const std::string compared = compared_words(summary.coverage);
      if (summary.agrees)
        fmt::print("\nSharded equals serial: {} compared{}, worst relative error {:.2e} ({}).\n", compared,
                   everywhere(plan->program), summary.worst_relative_error,
                   plan->program.tensor(summary.worst_tensor).name);
      else
        fmt::print("\n{} compared{}.\n", compared, everywhere(plan->program));
      print_left_out(plan->program, summary.coverage);
      if (summary.agrees) {
        if (planted)
          fmt::print(
              "{} is planted, but this one pass does not show it. Add --steps 50 to train and check again.\n",
              *fault);
      }
    }
    if (summary.agrees) return recorded;
    const Tensor& broken = plan->program.tensor(summary.first_broken);
    const TensorParity& parity = *table[static_cast<size_t>(broken.id)];
    fmt::print(stderr,
               "shardlens-cli: sharded differs from serial, first at tensor {} (step {}){}: relative error "
               "{:.3e}{}, "
               "bound {:.1e}{}\n",
               broken.name, producer_of(plan->program, broken.id), broken_on(plan->program, parity),
               parity.relative_error, parity.relative_to_terms ? " of its terms" : "", parity.bound,
               parity.ranks_identical ? "" : "; its ranks hold different bits");
    return 1;
  };
}

}  // namespace shardlens::cli
