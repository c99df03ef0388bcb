// The report of a training run: a live line on a terminal, plain lines elsewhere, and a CSV file with every
// step.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/command_line/live_line.h"
#include "engine/io/growing_file.h"
#include "engine/train/trainer.h"

namespace shardlens::cli {

inline constexpr std::string_view kLogHead = "step,loss,gradient_norm,learning_rate,";

/// The log of a run may be all that is left of it. A resumed run goes on with its own.
inline constexpr OutputKind kTrainingLog{
    "the log of a training run",
    [](std::string_view beginning, std::string_view) { return beginning.starts_with(kLogHead); },
    Existing::Kept, true};

class TrainReport : public TrainObserver {
 public:
  /// Lines go to `out`; on a terminal they are one live line. Rows are appended to `csv` if it is not empty;
  /// rows of an earlier run after step `done` are dropped (all, if it is 0). Throws a request Error if the
  /// file is something else. A row is written before the run saves its step, so a killed run never has a
  /// checkpoint that is ahead of its log.
  TrainReport(FILE* out, const TrainOptions& options, const std::string& csv, int64_t done);
  ~TrainReport() override;
  TrainReport(const TrainReport&) = delete;
  TrainReport& operator=(const TrainReport&) = delete;

  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_saved(const std::string& folder, int64_t step) override;
  void on_save_failed(const std::string& why) override;

  const StepReport& last() const { return last_; }
  const std::optional<ValidationReport>& last_validation() const { return last_validation_; }

 private:
  void open_csv(const std::string& path, int64_t done);
  void flush_row(const std::optional<ValidationReport>& validation);
  void note(const std::string& text);

  FILE* out_;
  LiveLine line_;
  int64_t steps_;  ///< total; or the steps already done, if fewer are asked for now
  int64_t validate_every_;
  std::unique_ptr<GrowingFile> csv_;
  bool row_waits_ = false;  ///< `last_` is not in the CSV yet: its validation follows
  StepReport last_;
  std::optional<ValidationReport> last_validation_;
  std::chrono::steady_clock::time_point noted_;  ///< time of the last line that is not live
};

}  // namespace shardlens::cli
