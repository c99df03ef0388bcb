// --record FILE.shardlens: its options, and the recorder that writes the file.
#include "app/cli/record.h"

#include <fmt/format.h>

#include <map>

#include "app/command_line/messages.h"
#include "app/command_line/request.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"

namespace shardlens::cli {

PictureOptions picture_options(const RecordOptions& options) {
  const std::map<std::string, PictureOptions::Taken> taken{{"off", PictureOptions::Taken::Off},
                                                           {"budget", PictureOptions::Taken::UnderBudget},
                                                           {"all", PictureOptions::Taken::All}};
  return {taken.at(options.pictures), options.budget_percent / 100, options.picture_size};
}

void add_record_options(CLI::App& verb, RecordOptions& options, const CLI::Validator& place) {
  const std::string group = "Recording";
  CLI::Option* const record =
      verb.add_option("--record", options.path,
                      "FILE.shardlens: writes what every rank does, step by step, into one SQLite file. "
                      "During the run, shardlens --recording FILE.shardlens shows it live")
          ->check(place)
          ->group(group);
  const auto option = [&](const char* name, auto& value, const char* help) {
    CLI::Option* const added = verb.add_option(name, value, help)->group(group)->capture_default_str();
    if (verb.get_name() != "bench") added->needs(record);  // `bench record` records by itself
    return added;
  };
  option("--record-limit", options.most_megabytes,
         "Largest size of the recording in megabytes; pictures take at most half of it")
      ->check(between(1e-6, 1e12));
  option(
      "--record-pictures", options.pictures,
      "Which tensors are kept as a picture, statistics and a hash. all: every tensor in every pass; off: no "
      "tensor; budget: every tensor in the first pass, then in each pass as many, in turn, as "
      "--record-budget allows")
      ->check(one_of("choice of pictures", {"off", "budget", "all"}));
  option("--record-budget", options.budget_percent, "Percent of the steps' time that pictures may take")
      ->check(between(0.0, 100.0));
  option("--record-picture-size", options.picture_size,
         "Most rows and columns of a picture; smaller pieces of tensors are kept exactly")
      ->check(between(int64_t{1}, int64_t{kPictureExtent}));
}

void refuse_recording(const RecordOptions& options, const std::string& why) {
  if (!options.path.empty()) throw request_error("--record records one run: " + why);
}

std::unique_ptr<Recorder> make_recorder(const RecordOptions& options, const std::string& verb,
                                        const Plan& plan, const CommunicatorInfo& communicator) {
  if (options.path.empty()) return nullptr;
  RecordingLimits limits;
  limits.file_bytes = static_cast<int64_t>(options.most_megabytes * 1e6);
  return std::make_unique<Recorder>(options.path, verb, plan, communicator, limits, picture_options(options));
}

int finish_recording(Recorder* recorder, const RecordOptions& options, FILE* out) {
  if (recorder == nullptr) return 0;
  const RecordingTotals totals = recorder->finish();
  if (totals.passes == 0 && totals.dropped_passes > 0) {
    say(fmt::format("nothing of the run is in {}: {}", options.path, totals.problem));
    return kFailedRun;
  }
  fmt::print(out, "recorded {} ({} events, {} samples of tensors) in {}\n",
             counted(totals.passes, "pass", "passes"), grouped_text(totals.events),
             grouped_text(totals.samples), options.path);
  if (totals.dropped_passes > 0)
    fmt::print(out, "{} not in it: {}\n", counted(totals.dropped_passes, "pass", "passes"), totals.problem);
  if (totals.dropped_pictures > 0)
    fmt::print(out, "{} not in it: {}\n", counted(totals.dropped_pictures, "picture"),
               kWhyPicturesAreDropped);
  return 0;
}

}  // namespace shardlens::cli
