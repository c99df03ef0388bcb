// The threads that help one thread compute. Each thread that computes has a team of its own, which starts
// when it is first needed and ends with the thread. Helpers that wait for work watch for a moment and then
// sleep, so a team costs little where cores are scarce.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace shardlens::cpu {

class ThreadTeam {
 public:
  /// The calling thread's own team.
  static ThreadTeam& of_this_thread();

  ThreadTeam() = default;
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Work on the items [first, last). `work` is what run() was given.
  using Part = void (*)(void* work, int64_t first, int64_t last);

  /// Cuts [0, items) into at most `threads` ranges of equal size, calls part(work, first, last) for each on a
  /// thread of its own, and returns when all are done. The calling thread takes the first range. Rethrows the
  /// first exception of a part. Call it only from the team's thread. Inside a part, a call runs on one
  /// thread.
  void run(int threads, int64_t items, Part part, void* work);

 private:
  struct Call {
    Part part = nullptr;
    void* work = nullptr;
    int64_t items = 0;
    int ranges = 0;
  };
  struct Helper {
    // Changes when there is a call for this helper, or when the team ends.
    alignas(64) std::atomic<uint32_t> calls{0};
    std::atomic<bool> sleeps{false};
    std::thread thread;
  };

  void help(Helper& helper, int range);
  void compute(int range);
  void add_helpers(int count);

  Call call_;
  bool ends_ = false;
  std::deque<Helper> helpers_;
  alignas(64) std::atomic<uint32_t> unfinished_{0};
  std::atomic<bool> owner_sleeps_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace shardlens::cpu
