// Recordings, and everything that reads them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "engine/record/chrome_trace.h"
#include "engine/record/diff.h"
#include "engine/record/history.h"
#include "engine/record/recording.h"
#include "engine/record/recording_csv.h"
#include "tests/fuzz/form.h"
#include "tests/fuzz/recording_harm.h"

namespace shardlens::fuzz {
namespace {

constexpr int64_t kPassesRead = 3;

// What the timeline reads, built anew where the file's own is not there.
void read_history(const std::string& path, const Recording& recording) {
  History history(path, std::make_shared<const Program>(recording.header().program));
  while (history.build_for(1) < 1) {
  }
  history.slice(0, history.end_ns(), 1000);
  history.slice(history.end_ns() / 2, history.end_ns() / 2 + 100'000, 1);
  for (const HistoryFind find :
       {HistoryFind::Step, HistoryFind::Collective, HistoryFind::SlowPass, HistoryFind::LongWait})
    history.find({.find = find, .text = "mlp"});
}

// Every reader, on the file as `info`, `export` and `diff` open it.
void read_recording(const std::string& path, const Recording& sound, const std::string& scratch) {
  const Recording recording(path);
  const RecordingTotals totals = recording.totals();
  recording.started_unix_seconds();
  recording.high_water_bytes();
  const int64_t passes = std::min(totals.passes, kPassesRead);
  for (int64_t pass = 0; pass < passes; ++pass) {
    recording.pass(pass);
    recording.samples(pass);
    recording.parity(pass);
    recording.hashes(pass);
  }
  recording.notes();
  read_history(path, recording);
  for (const RecordedTable table :
       {RecordedTable::Steps, RecordedTable::Collectives, RecordedTable::Memory, RecordedTable::Metrics})
    write_csv(recording, table, 0, passes, scratch + ".csv");
  write_chrome_trace(recording, 0, std::min<int64_t>(passes, 1), scratch + ".json");
  diff_recordings(recording, sound);
  diff_recordings(sound, recording);
}

class Recordings : public Form {
 public:
  explicit Recordings(const std::vector<std::string>& paths) : paths_(paths), sound_(paths.size()) {
    for (const std::string& path : paths) {
      std::ifstream file(path, std::ios::binary);
      files_.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }

  std::string name() const override { return "recording"; }

  std::string damage(const std::string& folder, Random& random) override {
    which_ = below(random, files_.size());
    const std::string path = folder + "/case.shardlens";
    std::ofstream(path, std::ios::binary) << files_[which_];
    return harm_recording(path, random);
  }

  void read(const std::string& folder) override {
    if (sound_[which_] == nullptr) sound_[which_] = std::make_unique<Recording>(paths_[which_]);
    read_recording(folder + "/case.shardlens", *sound_[which_], folder + "/scratch");
  }

 private:
  const std::vector<std::string> paths_;
  std::vector<std::string> files_;
  size_t which_ = 0;
  std::vector<std::unique_ptr<Recording>> sound_;  ///< opened in the process that reads
};

}  // namespace

std::unique_ptr<Form> recordings(const std::vector<std::string>& paths) {
  return std::make_unique<Recordings>(paths);
}

}  // namespace shardlens::fuzz
