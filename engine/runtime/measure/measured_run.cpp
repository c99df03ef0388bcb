// Runs passes of one executor and selects the fastest.
#include "engine/runtime/measure/measured_run.h"

#include <algorithm>

#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

void run_pass(Executor& executor, const std::stop_token& stop) {
  executor.start(executor.steps());
  const std::stop_callback cancel(stop, [&executor] { executor.cancel("the measurement was stopped"); });
  executor.wait();
}

}  // namespace

MeasuredRun measure_run(const std::shared_ptr<const Plan>& plan,
                        std::vector<std::shared_ptr<StepObserver>> observers, const RunWish& wish) {
  check_runnable(*plan);
  Executor executor(plan);
  executor.observe(std::move(observers));
  run_pass(executor, wish.stop);
  executor.observe({});
  MeasuredRun run;
  run.communicator = executor.communicator();
  for (int pass = 0; pass < wish.passes; ++pass) {
    executor.next_pass();  // an optimizer continues from its last step
    run_pass(executor, wish.stop);
    std::vector<std::vector<StepEvent>> events = executor.events(plan->program.ranks());
    TimeComparison times = compare_times(*plan, events);
    run.pass_seconds.push_back(times.measured_seconds);
    if (pass == 0 || times.measured_seconds < run.times.measured_seconds) {
      run.times = std::move(times);
      run.events = std::move(events);
    }
  }
  std::sort(run.pass_seconds.begin(), run.pass_seconds.end());
  for (int rank = 0; rank < plan->program.ranks(); ++rank)
    run.high_water_bytes.push_back(executor.high_water_bytes(rank));
  return run;
}

void observe_run(const std::shared_ptr<const Plan>& plan,
                 std::vector<std::shared_ptr<StepObserver>> observers, const RunWish& wish) {
  check_runnable(*plan);
  Executor executor(plan);
  executor.observe(std::move(observers));
  run_pass(executor, wish.stop);
}

}  // namespace shardlens
