// Long work in pieces. A Job is a coroutine that gives way where its work can be cut: between the steps of a
// run, the points of a sweep, the steps of a training. A worker holds one and lets it go on by a piece in
// each turn; a caller that has nothing else to do runs it to its end. A Job may await another one, whose
// pieces are then its own.
//
// Among threads nothing needs to give way, because kPieceSeconds has no end: a Job is then one piece, or as
// many as it gives way anyhow.
//
// What a Job refers to must live until it is done: it goes on long after the call that made it. So arguments
// are values, or things that its caller keeps.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "engine/base/worker.h"

namespace shardlens {

template <typename Value>
class Job;

/// `co_await GiveWay()` ends a piece.
using GiveWay = std::suspend_always;

namespace job {

/// What all Jobs of a chain share, in the outermost one: the innermost, which goes on next.
struct Promise {
  std::coroutine_handle<> awaiting;  ///< the Job that awaits this one; null: none
  Promise* outermost = this;
  std::coroutine_handle<> goes_on;  ///< of the outermost
  std::exception_ptr failure;

  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }

  /// At the end of a Job the one that awaits it goes on.
  struct End {
    bool await_ready() noexcept { return false; }
    template <typename OfJob>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<OfJob> ended) noexcept {
      Promise& promise = ended.promise();
      if (!promise.awaiting) return std::noop_coroutine();
      promise.outermost->goes_on = promise.awaiting;
      return promise.awaiting;
    }
    void await_resume() noexcept {}
  };
  End final_suspend() noexcept { return {}; }
};

template <typename Value>
struct PromiseOf : Promise {
  std::optional<Value> value;
  Job<Value> get_return_object();
  template <typename Returned>
  void return_value(Returned&& returned) {
    value.emplace(std::forward<Returned>(returned));
  }
  Value take() { return std::move(*value); }
};

template <>
struct PromiseOf<void> : Promise {
  inline Job<void> get_return_object();
  void return_void() noexcept {}
  void take() noexcept {}
};

}  // namespace job

template <typename Value = void>
class [[nodiscard]] Job {
 public:
  using promise_type = job::PromiseOf<Value>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Job(Handle handle) : handle_(handle) { handle_.promise().goes_on = handle_; }
  Job(Job&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Job& operator=(Job&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Job() {
    if (handle_) handle_.destroy();
  }

  /// Does one piece. Returns true if the Job is done; throws what it threw, and is done then too.
  bool go_on() {
    handle_.promise().goes_on.resume();
    if (!handle_.done()) return false;
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return true;
  }
  /// What it returned; call it once, when it is done.
  Value take() { return handle_.promise().take(); }

  // For co_await in another Job.
  bool await_ready() const noexcept { return false; }
  template <typename OfJob>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<OfJob> awaiting) noexcept {
    job::Promise& promise = handle_.promise();
    promise.awaiting = awaiting;
    promise.outermost = awaiting.promise().outermost;
    promise.outermost->goes_on = handle_;
    return handle_;
  }
  Value await_resume() {
    if (handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
    return take();
  }

 private:
  Handle handle_;
};

template <typename Value>
Job<Value> job::PromiseOf<Value>::get_return_object() {
  return Job<Value>(Job<Value>::Handle::from_promise(*this));
}
inline Job<void> job::PromiseOf<void>::get_return_object() {
  return Job<void>(Job<void>::Handle::from_promise(*this));
}

/// Does all of it now, and returns what it returned. Workers that take turns come forward meanwhile.
template <typename Value>
Value run_whole(Job<Value> job) {
  while (!job.go_on()) take_turns(0);
  take_turns(0);
  return job.take();
}

}  // namespace shardlens
