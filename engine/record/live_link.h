// Lets readers follow a recording while it is written, without locks.
//
// A reader that took SQLite's locks could hold up the writer: while it reads, and forever if it is stopped in
// the middle. So readers take no lock. A reader reads the file while nothing in it changes, and discards what
// it has read if something did change. What it needs for that is in a small file next to the recording,
// FILE-live, which exists while the recording is written:
//   generation   odd while pages of the recording change; rises by one before and by one after
//   beats        rises about twice a second as long as the writer's thread runs
//   committed    when the last change ended
// The writer holds a lock on that file. The system removes the lock as soon as the writer's process ends, for
// whatever reason. A reader can check the lock without taking it. If locks are not visible, over a network,
// only the beats tell that the writer is alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/fleeting.h"

namespace shardlens {

/// The writer's side. A failure here is never an error of the run: if the file cannot be made, the recording
/// cannot be watched while it is written.
class LiveLink {
 public:
  /// Call this before the recording itself is made, so that the recording never exists without its link.
  explicit LiveLink(const std::string& recording);
  ~LiveLink();  ///< call after the recording is closed: removes the link
  LiveLink(const LiveLink&) = delete;
  LiveLink& operator=(const LiveLink&) = delete;

  /// The recording exists and can be read from now on.
  void made() { turn(); }
  /// Call as often as you like: it limits its own rate.
  void beat();

  /// While a Change exists, pages of the recording change.
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
  Gone,   ///< there is no writer, or no longer
  Works,  ///< it gave a beat recently
  Silent  ///< its process exists but gives no beat: it was stopped, or waits for its disk
};

/// The reader's side. It takes no lock and writes nothing.
class LiveWatch {
 public:
  /// If no lock is visible, waits for a beat, at most kSilentSeconds.
  explicit LiveWatch(const std::string& recording);
  ~LiveWatch();
  LiveWatch(const LiveWatch&) = delete;
  LiveWatch& operator=(const LiveWatch&) = delete;

  /// Reads the link again. Gone is final.
  WriterState state();
  /// The current generation; odd: something changes.
  uint64_t generation();
  /// The time of the last commit on this process's now_seconds() clock.
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

inline constexpr double kSilentSeconds = 3;  ///< seconds without a beat after which the writer is Silent

/// The path of the link's file.
std::string live_link_path(const std::string& recording);

/// Removes the link that a killed writer on this machine left behind.
void remove_dead_link(const std::string& recording);

/// The recordings that this user's processes on this machine write now: absolute paths, sorted.
std::vector<std::string> running_recordings();

}  // namespace shardlens
