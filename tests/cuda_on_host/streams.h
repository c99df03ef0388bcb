// Simulates streams and events of GPUs on the host. Work is queued and done later, in the stream's order.
// Which stream is next, and how soon, is random. So if one stream must wait for another and the wait is
// missing, the numbers come out wrong. Work is done only while some thread queries or waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

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
  struct Asked {
    on_host::Work work;
    bool survives = false;  ///< is done on a broken GPU too
  };
  int gpu = 0, priority = 0;
  std::deque<Asked> work;
  std::unique_ptr<std::vector<on_host::Work>> captured = nullptr;  ///< instead of `work`, during a capture
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
inline std::atomic<int> allocations = 0;     ///< of all, by now
inline std::atomic<int> early_launches = 0;  ///< of the launches, those that may overlap the kernel before
inline std::atomic<int> stream_waits = 0;    ///< that streams were asked for, by now
/// What becomes of the one that is being asked for, if a test wants a say; set while no thread asks.
inline std::function<bool(int number)> allows_wait;
/// What all threads have asked of the runtime by now. A driver does such calls for one thread at a time. A
/// product counts as a launch.
inline std::atomic<int> event_records = 0, event_synchronizes = 0, stream_synchronizes = 0, elapsed_times = 0,
                        launches = 0, copies = 0;
inline std::atomic<int> blocks = 0;  ///< of those launches that are kernels of ours

/// What events are told on top of the host's clock, from now on.
void let_time_pass(double seconds);

/// Of the calling thread: what cudaGetLastError() is to say; what the kernel it starts next is refused with;
/// what that kernel ends with; and what cuBLASLt says to its next product. 0: nothing.
inline thread_local int last_error = 0, next_launch = 0, next_kernel = 0, next_product = 0;
/// A GPU is broken by a kernel that ends so: nothing is done on it any more, and every call about it says so.
void break_gpu(int gpu, int error);
/// What broke the calling thread's GPU; 0: nothing has.
int broken_by();
void mend_gpus();
/// The allocation of that GPU after so many more is refused, and all after it; -1: of no GPU.
inline std::atomic<int> full_gpu = -1, allocations_left = 0;

/// What devices that are made from now on are told of their GPU: multiprocessors, and bytes of shared memory
/// of each.
inline std::atomic<int> multiprocessors = 132;
inline std::atomic<size_t> shared_room = size_t{228} << 10;

/// The calling thread's GPU from now on.
void set_gpu(int gpu);
int own_gpu();

/// If graphs can be captured at all; how often one was launched, by now.
inline std::atomic<bool> captures = true;
inline std::atomic<int> graph_launches = 0;
/// False if the stream is being captured already.
bool begin_capture(cudaStream_t stream);
/// What was asked of the stream since; null: nothing is being captured. An event in a capture ends the test.
std::vector<Work>* end_capture(cudaStream_t stream);

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
