// --record, the same for every verb that runs something.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "app/command_line/request.h"
#include "engine/runtime/recordings/recorder.h"
#include "engine/train/trainer.h"

namespace shardlens::cli {

struct RecordOptions {
  std::string path;              ///< empty: nothing is recorded
  double most_megabytes = 1024;  ///< the file grows no further
  std::string pictures = "budget";
  double budget_percent = PictureOptions{}.budget_share * 100;  ///< of step time
  int64_t picture_size = PictureOptions().extent;
};

/// `place` says which files --record may name.
void add_record_options(CLI::App& verb, RecordOptions& options, const CLI::Validator& place = new_file());

PictureOptions picture_options(const RecordOptions& options);

/// For a verb one of whose forms records and another does not.
void refuse_recording(const RecordOptions& options, const std::string& why);

/// Null where nothing is to be recorded.
std::unique_ptr<Recorder> make_recorder(const RecordOptions& options, const std::string& verb,
                                        const Plan& plan, const CommunicatorInfo& communicator);

/// Calls `run`, which is what is recorded. Where it throws, the recording is ended with what it threw.
template <typename Run>
void run_recorded(const std::unique_ptr<Recorder>& recorder, const Run& run) {
  try {
    run();
  } catch (const std::exception& error) {
    if (recorder) recorder->finish(error.what());
    throw;
  }
}

/// Ends the recording and says what is in it, and what is not; nothing where there is none.
void finish_recording(Recorder* recorder, const RecordOptions& options, FILE* out);

/// Records every step of a training run, with the look at the validation text that followed it, and hands
/// everything on to who watches it.
class RecordedTraining : public TrainObserver {
 public:
  RecordedTraining(TrainObserver& watcher, const Trainer& trainer, Recorder* recorder, int64_t validate_every)
      : watcher_(watcher), trainer_(trainer), recorder_(recorder), validate_every_(validate_every) {}

  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_saved(const std::string& folder, int64_t step) override { watcher_.on_saved(folder, step); }
  void on_save_failed(const std::string& why) override { watcher_.on_save_failed(why); }

 private:
  TrainObserver& watcher_;
  const Trainer& trainer_;
  Recorder* recorder_;
  int64_t validate_every_;
  std::vector<Metric> step_;  ///< that is not recorded yet: its validation follows
};

}  // namespace shardlens::cli
