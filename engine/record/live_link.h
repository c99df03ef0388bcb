// Who writes a recording, and when it may be read meanwhile.
//
// A reader that took SQLite's locks could hold up the writer: while it reads, and for ever where it is
// stopped in the middle. So whoever watches a run takes none. It reads the file while nothing in it changes,
// and throws away what it has read where something did. What it needs to know stands in a small file beside
// the recording, FILE-live, which is there while the recording is written:
//   generation   odd while pages of the recording change; rises by one before and by one after
//   beats        rises about twice a second as long as the writer's thread runs
//   committed    when the last change ended
// The writer holds a lock on that file. The system takes it away the moment the writer's process is no more,
// however it ended; whether it is held can be asked without taking it. Where locks are not seen, over a
// network, the beats alone tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/fleeting.h"

namespace shardlens {

/// The writer's side. Nothing here is an error of the run: where the file cannot be made, the recording
/// cannot be watched while it is written.
class LiveLink {
 public:
  /// Before the recording itself is made, so that nobody finds it without its link.
  explicit LiveLink(const std::string& recording);
  ~LiveLink();  ///< once the recording is closed: takes the link away
  LiveLink(const LiveLink&) = delete;
  LiveLink& operator=(const LiveLink&) = delete;

  /// The recording is there: from now on it can be read.
  void made() { turn(); }
  /// As often as one likes.
  void beat();

  /// While one lives, pages of the recording change.
  class Change {
   public:
    explicit Change(LiveLink& link) : link_(link) { link_.turn(); }
    ~Change() { link_.turn(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    LiveLink& link_;
  };

 private:
  void turn();
  void write();

  std::string path_, listed_;
  std::optional<Fleeting> fleeting_, fleeting_listed_;
  int file_ = -1;
  bool locked_ = false;
  uint64_t generation_ = 1, beats_ = 0;
  int64_t committed_unix_ns_ = 0;
  double beaten_seconds_ = 0;
};

enum class WriterState {
  Gone,   ///< there is none, or none any more
  Works,  ///< it gave a sign of itself lately
  Silent  ///< its process is there, and says nothing: it was stopped, or waits for its disk
};

/// The reader's side. It takes no lock and writes nothing.
class LiveWatch {
 public:
  /// Where no lock is seen, waits for a beat, kSilentSeconds at most.
  explicit LiveWatch(const std::string& recording);
  ~LiveWatch();
  LiveWatch(const LiveWatch&) = delete;
  LiveWatch& operator=(const LiveWatch&) = delete;

  /// Looks again. Gone is said for good.
  WriterState state();
  /// As it stands now; odd: something changes.
  uint64_t generation();
  /// The moment of the last commit, by this process's now_seconds().
  double committed_seconds() const { return committed_seconds_; }

 private:
  bool look();
  bool is_locked() const;

  int file_ = -1;
  bool saw_lock_ = false, here_ = false;
  uint64_t generation_ = 0, beats_ = 0;
  bool beaten_ = false;
  double beat_seconds_ = 0;
  int64_t committed_unix_ns_ = 0;
  double committed_seconds_ = 0;
};

inline constexpr double kSilentSeconds = 3;  ///< without a beat

/// The link's file.
std::string live_link_path(const std::string& recording);

/// Takes away the link that a writer on this machine left behind when it was killed.
void remove_dead_link(const std::string& recording);

/// The recordings that this person's processes write on this machine now: absolute paths, sorted.
std::vector<std::string> running_recordings();

}  // namespace shardlens
