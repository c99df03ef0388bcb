// Waits for the file to be unchanged, and notices when its writer is gone.
#include "engine/record/recording_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

namespace shardlens {
namespace {

constexpr double kPatienceSeconds = 2;

}  // namespace

RecordingFile::RecordingFile(const std::string& path)
    : path_(path), watch_(std::make_unique<LiveWatch>(path)) {
  if (watch_->state() == WriterState::Gone) settle();
}

// From here on nothing writes the file. SQLite repairs what a killed writer left half written.
void RecordingFile::settle() {
  database_ = open_database(path_);
  watch_.reset();
  remove_dead_link(path_);
}

// A new run can have put another file in its place.
void RecordingFile::require_same_file() {
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0) throw request_error(fmt::format("{} no longer exists", path_));
  const std::pair found(now.st_dev, now.st_ino);
  if (file_ && *file_ != found)
    throw request_error(fmt::format("{} was replaced by another recording; open it again", path_));
  file_ = found;
}

void RecordingFile::damaged(const std::string& what) const {
  throw request_error(fmt::format("{} is damaged: {}", path_, what));
}

WriterState RecordingFile::writer() {
  if (!watch_) return WriterState::Gone;
  // If the file was removed, its writer writes nothing more and does not report it.
  if (file_) require_same_file();
  const WriterState state = watch_->state();
  if (state == WriterState::Gone) settle();
  return state;
}

Database& RecordingFile::own() {
  if (writer() != WriterState::Gone) throw run_error(fmt::format("{} is being written", path_));
  return *database_;
}

// The connection to read with. A connection can cache what it read before a commit, so every generation gets
// its own.
Database& RecordingFile::at_rest(double since_seconds) {
  while (writer() != WriterState::Gone) {
    if (now_seconds() - since_seconds > kPatienceSeconds)
      throw run_error(fmt::format("{} is being written without a pause; try again in a moment", path_));
    const uint64_t generation = watch_->generation();
    if (generation % 2 == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      continue;
    }
    if (!database_ || read_at_ != generation) {
      require_same_file();
      database_.reset();
      database_ = std::make_unique<Database>(path_, Database::Access::Unlocked);
      read_at_ = generation;
    }
    break;
  }
  return *database_;
}

bool RecordingFile::is_unchanged() {
  return !watch_ || watch_->generation() == read_at_;
}

}  // namespace shardlens
