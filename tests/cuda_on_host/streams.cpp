// One lock and one random generator for all streams.
#include "tests/cuda_on_host/streams.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/clock.h"

namespace on_host {
namespace {

// Never destroyed: the thread of a rank that hung and was let go may free its device after main() has ended.
std::mutex& mutex = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;
std::vector<cudaStream_t>& streams = *new std::vector<cudaStream_t>;
std::set<cudaEvent_t>& events = *new std::set<cudaEvent_t>;
std::mt19937 lot(20261122);

thread_local int current_gpu = 0;
std::atomic<double> passed_seconds = 0;
std::mutex& broken_mutex = *new std::mutex;  // taken last
std::map<int, int>& broken = *new std::map<int, int>;

int error_of(int gpu) {
  const std::lock_guard lock(broken_mutex);
  const auto found = broken.find(gpu);
  return found == broken.end() ? 0 : found->second;
}

/// Does the next work of one stream; false where none of them can go on.
bool advance() {
  std::vector<cudaStream_t> busy;
  for (const cudaStream_t stream : streams)
    if (!stream->work.empty()) busy.push_back(stream);
  std::shuffle(busy.begin(), busy.end(), lot);
  for (const cudaStream_t stream : busy) {
    const CUstream_st::Asked& next = stream->work.front();
    if ((next.survives || error_of(stream->gpu) == 0) && !next.work()) continue;
    stream->work.pop_front();
    changed.notify_all();
    return true;
  }
  return false;
}

/// Often nothing, so that streams fall behind, and sometimes much.
void advance_a_little() {
  if (lot() % 4 != 0) return;
  for (unsigned turns = static_cast<unsigned>(lot() % 8); turns > 0 && advance();) --turns;
}

template <class Over>
void advance_until(const Over& over) {
  std::unique_lock lock(mutex);
  while (!over())
    if (!advance()) changed.wait(lock);
}

}  // namespace

void let_time_pass(double seconds) {
  passed_seconds = passed_seconds + seconds;
}

void break_gpu(int gpu, int error) {
  const std::lock_guard lock(broken_mutex);
  broken.emplace(gpu, error);
}
int broken_by() {
  return error_of(current_gpu);
}
void mend_gpus() {
  const std::lock_guard lock(broken_mutex);
  broken.clear();
}

void set_gpu(int gpu) {
  current_gpu = gpu;
}
int own_gpu() {
  return current_gpu;
}

cudaStream_t make_stream(int priority) {
  const std::lock_guard lock(mutex);
  streams.push_back(new CUstream_st{current_gpu, priority, {}, {}});
  return streams.back();
}

void end_stream(cudaStream_t stream) {
  wait_for(stream);
  const std::lock_guard lock(mutex);
  std::erase(streams, stream);
  delete stream;
}

void ask_again(cudaStream_t stream, Work work) {
  const std::lock_guard lock(mutex);
  if (stream->captured) return stream->captured->push_back(std::move(work));
  stream->work.push_back({std::move(work)});
  changed.notify_all();
  advance_a_little();
}

bool begin_capture(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (stream->captured) return false;
  stream->captured = std::make_unique<std::vector<Work>>();
  return true;
}

std::vector<Work>* end_capture(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  return stream->captured.release();
}

cudaEvent_t make_event() {
  const std::lock_guard lock(mutex);
  return *events.insert(new CUevent_st).first;
}

void end_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  events.erase(event);
  delete event;
}

void record(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (stream->captured) std::abort();  // a mark in every replay
  const auto note = [recorded = event->recorded, number = ++event->recorded->asked] {
    recorded->done = std::max(recorded->done, number);
    recorded->seconds = shardlens::now_seconds() + passed_seconds;
    return true;
  };
  stream->work.push_back({note, true});
  changed.notify_all();
  advance_a_little();
}

bool let_wait(cudaStream_t stream, cudaEvent_t event) {
  const int number = ++stream_waits;
  if (allows_wait && !allows_wait(number)) return false;
  const std::lock_guard lock(mutex);
  if (events.count(event) == 0) return false;
  stream->work.push_back(
      {[recorded = event->recorded, number = event->recorded->asked] { return recorded->done >= number; }});
  return true;
}

void wait_for(cudaStream_t stream) {
  advance_until([stream] { return stream->work.empty(); });
}

void wait_for(cudaEvent_t event) {
  advance_until(
      [recorded = event->recorded, number = event->recorded->asked] { return recorded->done >= number; });
}

void wait_for_gpu() {
  advance_until([gpu = current_gpu] {
    return std::all_of(streams.begin(), streams.end(), [gpu](const cudaStream_t stream) {
      return stream->gpu != gpu || stream->work.empty();
    });
  });
}

bool has_been(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  advance_a_little();
  return event->recorded->done >= event->recorded->asked;
}

bool was_recorded(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  return event->recorded->asked > 0;
}

double seconds_of(cudaEvent_t event) {
  const std::lock_guard lock(mutex);
  return event->recorded->seconds;
}

void look_again() {
  const std::lock_guard lock(mutex);
  changed.notify_all();
}

}  // namespace on_host
