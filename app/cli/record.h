// The options of --record, shared by every verb that runs something.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "app/command_line/outputs.h"
#include "engine/io/file_problem.h"
#include "engine/record/recording_file.h"
#include "engine/runtime/recordings/recorder.h"

namespace shardlens::cli {

struct RecordOptions {
  std::string path;              ///< empty: nothing is recorded
  double most_megabytes = 1024;  ///< largest size of the file
  std::string pictures = "budget";
  double budget_percent = PictureOptions{}.budget_share * 100;  ///< of step time
  int64_t picture_size = PictureOptions().extent;
};

/// Adds the options. `place` checks the file name of --record.
void add_record_options(CLI::App& verb, RecordOptions& options,
                        const CLI::Validator& place = free_output(kRecordingFile));

PictureOptions picture_options(const RecordOptions& options);

/// Throws a request Error if --record was given. For forms of a verb that cannot record.
void refuse_recording(const RecordOptions& options, const std::string& why);

/// Returns null if --record was not given.
std::unique_ptr<Recorder> make_recorder(const RecordOptions& options, const std::string& verb,
                                        const Plan& plan, const CommunicatorInfo& communicator);

/// Calls `run`, which is recorded. If it throws, the recording ends with the error's text.
template <typename Run>
void run_recorded(const std::unique_ptr<Recorder>& recorder, const Run& run) {
  try {
    run();
  } catch (const std::exception& error) {
    if (recorder) recorder->finish(message_of(error));
    throw;
  }
}

/// Ends the recording and prints what is in it, and what is missing. Does nothing if `recorder` is null.
/// Returns the exit code of a run that otherwise did what was asked: kFailedRun if there is nothing in the
/// recording.
[[nodiscard]] int finish_recording(Recorder* recorder, const RecordOptions& options, FILE* out);

}  // namespace shardlens::cli
