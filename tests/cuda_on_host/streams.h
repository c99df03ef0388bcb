// Streams and events of GPUs on a host. What a stream is asked for is kept and done later, in the stream's
// order; among several streams it is drawn by lot whose turn it is, and how soon: where one stream must wait
// for another and is not told to, numbers come out wrong. All of it happens while some thread asks or waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

namespace on_host {

/// How often an event was recorded, how far that has been done, and when.
struct Recorded {
  int64_t asked = 0, done = 0;
  double seconds = 0;
};

/// What a stream does when it comes to it; false: it cannot be done yet, ask again.
using Work = std::function<bool()>;

}  // namespace on_host

struct CUstream_st {
  int gpu = 0, priority = 0;
  std::deque<on_host::Work> work;
};
struct CUevent_st {
  std::shared_ptr<on_host::Recorded> recorded = std::make_shared<on_host::Recorded>();
};
using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;

namespace on_host {

/// cudaMalloc() of so many bytes does not return until this is another number; how often that has begun.
inline std::atomic<size_t> stuck_bytes = 0;
inline std::atomic<int> stuck_allocations = 0;
inline std::atomic<int> allocations = 0;   ///< of all, by now
inline std::atomic<int> stream_waits = 0;  ///< that streams were asked for, by now
/// What becomes of the one that is being asked for, if a test wants a say; set while no thread asks.
inline std::function<bool(int number)> allows_wait;

/// The calling thread's GPU from now on.
void set_gpu(int gpu);

cudaStream_t make_stream(int priority);
void end_stream(cudaStream_t stream);
void ask_again(cudaStream_t stream, Work work);
inline void ask(cudaStream_t stream, std::function<void()> work) {
  ask_again(stream, [work = std::move(work)] { return work(), true; });
}
cudaEvent_t make_event();
void end_event(cudaEvent_t event);
void record(cudaEvent_t event, cudaStream_t stream);
/// For what `event` was recorded behind so far; false: there is no such event any more, or allows_wait() is.
bool let_wait(cudaStream_t stream, cudaEvent_t event);

void wait_for(cudaStream_t stream);
void wait_for(cudaEvent_t event);
/// For all streams of the calling thread's GPU.
void wait_for_gpu();
bool has_been(cudaEvent_t event);
bool was_recorded(cudaEvent_t event);
double seconds_of(cudaEvent_t event);
/// Who waits looks again: work that could not be done may be now.
void look_again();

}  // namespace on_host
