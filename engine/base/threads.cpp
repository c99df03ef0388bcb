// Threads that start together wait at a gate, which opens when the last of them is there or when one is
// missing.
#include "engine/base/threads.h"

#include <fmt/format.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/limits.h"
#include "engine/base/worker.h"

namespace shardlens {
namespace {

struct Gate {
  explicit Gate(std::function<void(int)> function) : main(std::move(function)) {}

  void open(bool all_are_there) {
    {
      const std::lock_guard lock(mutex);
      is_open = true;
      goes_on = all_are_there;
    }
    changed.notify_all();
  }
  bool pass() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_open; });
    return goes_on;
  }

  const std::function<void(int)> main;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false, goes_on = false;
};

Error cannot_start(const std::string& what, int count, size_t started, const std::system_error& error) {
  const std::string limits = thread_limits_text();
  return run_error(fmt::format(
      "{} for {} cannot start{}: {}{}. Raise the limit, end other programs, or use fewer ranks and threads",
      count == 1 ? "a thread" : counted(count, "thread"), what,
      started > 0 ? fmt::format(", only {} of them", started) : "", error.code().message(),
      limits.empty() ? "" : "; the limit is " + limits));
}

}  // namespace

std::thread start_thread(const std::string& what, std::function<void()> main) {
  try {
    return std::thread(std::move(main));
  } catch (const std::system_error& error) {
    throw cannot_start(what, 1, 0, error);
  }
}

std::vector<std::thread> start_threads(const std::string& what, int count, std::function<void(int)> main) {
  const auto gate = std::make_shared<Gate>(std::move(main));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));
  const auto give_up = [&] {
    gate->open(false);
    for (std::thread& thread : threads) thread.join();
  };
  try {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([gate, i] {
        if (gate->pass()) gate->main(i);
      });
  } catch (const std::system_error& error) {
    give_up();
    throw cannot_start(what, count, threads.size(), error);
  } catch (...) {  // no memory
    give_up();
    throw;
  }
  gate->open(true);
  return threads;
}

void run_threads(const std::string& what, int count, std::function<void(int)> main) {
  if (count == 1 && kWorkersTakeTurns) return main(0);  // a page has no threads, and one core
  for (std::thread& thread : start_threads(what, count, std::move(main))) thread.join();
}

}  // namespace shardlens
