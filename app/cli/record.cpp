// --record FILE.shardlens.
#include "app/cli/record.h"

#include <fmt/format.h>

#include "engine/config/error.h"
#include "engine/config/units.h"

namespace shardlens::cli {

void add_record_options(CLI::App& verb, RecordOptions& options) {
  verb.add_option("--record", options.path,
                  "FILE.shardlens: writes what every rank did, step by step, into one SQLite file")
      ->check(CLI::NonexistentPath)
      ->group("Recording");
  verb.add_option("--record-limit", options.most_megabytes, "Megabytes the recording may have")
      ->group("Recording")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

std::unique_ptr<Recorder> make_recorder(const RecordOptions& options, const std::string& verb,
                                        const Plan& plan, const CommunicatorInfo& communicator) {
  if (options.path.empty()) return nullptr;
  RecordingLimits limits;
  limits.file_bytes = static_cast<int64_t>(options.most_megabytes * 1e6);
  return std::make_unique<Recorder>(options.path, verb, plan, communicator, limits);
}

void finish_recording(Recorder* recorder, const RecordOptions& options, FILE* out) {
  if (recorder == nullptr) return;
  const RecordingTotals totals = recorder->finish();
  fmt::print(out, "recorded {} {} ({} events) in {}\n", grouped_text(totals.passes),
             totals.passes == 1 ? "pass" : "passes", grouped_text(totals.events), options.path);
  if (totals.dropped_passes > 0)
    fmt::print(out, "{} passes are not in it: {}\n", grouped_text(totals.dropped_passes), totals.problem);
}

void RecordedTraining::on_step(const StepReport& report) {
  if (recorder_ != nullptr)
    recorder_->take(trainer_.executor(), {{"step", static_cast<double>(report.step)},
                                          {"loss", report.loss},
                                          {"gradient_norm", report.gradient_norm},
                                          {"learning_rate", report.learning_rate},
                                          {"loss_scale", report.loss_scale},
                                          {"skipped", report.skipped ? 1.0 : 0.0},
                                          {"step_seconds", report.seconds},
                                          {"tokens_per_second", report.tokens_per_second},
                                          {"flops_per_second", report.flops_per_second}});
  watcher_.on_step(report);
}

}  // namespace shardlens::cli
