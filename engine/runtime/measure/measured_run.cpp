// Runs passes of one executor and selects the fastest.
#include "engine/runtime/measure/measured_run.h"

#include <algorithm>

#include "engine/runtime/plan.h"
#include "engine/runtime/run_in_pieces.h"

namespace shardlens {
namespace {

Job<> run_pass(Executor& executor, std::stop_token stop) {
  const std::stop_callback cancel(stop, [&executor] { executor.cancel("the measurement was stopped"); });
  co_await run_to_end(executor);
}

}  // namespace

Job<MeasuredRun> measure_in_pieces(std::shared_ptr<const Plan> plan,
                                   std::vector<std::shared_ptr<StepObserver>> observers, RunWish wish) {
  check_runnable(*plan);
  Executor executor(plan);
  executor.observe(std::move(observers));
  co_await run_pass(executor, wish.stop);
  executor.observe({});
  MeasuredRun run;
  run.communicator = executor.communicator();
  for (int pass = 0; pass < wish.passes; ++pass) {
    executor.next_pass();  // an optimizer continues from its last step
    co_await run_pass(executor, wish.stop);
    std::vector<std::vector<StepEvent>> events = executor.events(plan->program.tp());
    TimeComparison times = compare_times(*plan, events);
    run.pass_seconds.push_back(times.measured_seconds);
    if (pass == 0 || times.measured_seconds < run.times.measured_seconds) {
      run.times = std::move(times);
      run.events = std::move(events);
    }
  }
  std::sort(run.pass_seconds.begin(), run.pass_seconds.end());
  for (int rank = 0; rank < plan->program.tp(); ++rank)
    run.high_water_bytes.push_back(executor.high_water_bytes(rank));
  co_return run;
}

Job<> observe_in_pieces(std::shared_ptr<const Plan> plan,
                        std::vector<std::shared_ptr<StepObserver>> observers, RunWish wish) {
  check_runnable(*plan);
  Executor executor(plan);
  executor.observe(std::move(observers));
  co_await run_pass(executor, wish.stop);
}

}  // namespace shardlens
