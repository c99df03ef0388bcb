// Messages between processes by MPI. This file is a plug-in (processes.h), and the only one that includes
// MPI's header.
//
// One thread starts MPI, and ends it after the last message. Starting waits for all processes that mpirun
// started, possibly for ever, so the code that opens this plug-in waits for that thread with a limit. All
// other MPI calls run under one lock and none of them blocks, so MPI needs no thread support beyond
// "serialized".
#include <dlfcn.h>
#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "engine/comm/processes.h"
#include "engine/comm/siblings.h"

namespace shardlens {
namespace {

// Reads an environment variable that mpirun sets for its processes before MPI starts. Empty if it is not set.
std::string told(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + " failed: " + text);
}

// Shared with the MPI thread, which is abandoned if it never returns.
struct Start {
  std::mutex mutex;
  std::condition_variable changed;
  bool started = false, ending = false, ended = false;
  int problem = MPI_SUCCESS;
  int threads = MPI_THREAD_SINGLE;
};

void start_and_end(const std::shared_ptr<Start>& start) {
  int threads = MPI_THREAD_SINGLE;
  const int problem = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads);
  std::unique_lock lock(start->mutex);
  start->problem = problem;
  start->threads = threads;
  start->started = true;
  start->changed.notify_all();
  start->changed.wait(lock, [&] { return start->ending; });
  lock.unlock();
  MPI_Finalize();
  lock.lock();
  start->ended = true;
  start->changed.notify_all();
}

// If a peer on another machine is gone, Open MPI tells mpirun about it inside the call that finds it out, and
// waits for an answer. A mpirun that is ending the job never answers, so that call never returned. This
// switch turns the report off; we report the lost rank ourselves. (A version without the switch does not make
// the report.)
void keep_open_mpi_quiet() {
  if (void* const quiet = dlsym(RTLD_DEFAULT, "orte_execute_quiet")) *static_cast<bool*>(quiet) = true;
}

// How long the destructor waits for the end of MPI if end() was not called.
constexpr double kLastSeconds = 3;

class MpiProcesses final : public Processes {
 public:
  explicit MpiProcesses(double timeout_seconds)
      : start_(std::make_shared<Start>()), longest_call_(timeout_seconds) {
    // A test for a message must be cheap. The caller sleeps between tests by itself, and a call that yields
    // when cores are scarce would lose a time slice each time. Between machines, TCP is polled in every call
    // and not a hundred times a second.
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
    if (told("OMPI_COMM_WORLD_LOCAL_SIZE") != told("OMPI_COMM_WORLD_SIZE"))
      setenv("OMPI_MCA_mpi_event_tick_rate", "1", 0);
    try {
      std::thread([start = start_] { start_and_end(start); }).detach();
    } catch (const std::system_error& error) {
      throw std::runtime_error(std::string("the thread that starts MPI cannot start: ") +
                               error.code().message() +
                               ". Raise the limit on threads (ulimit -u, or pids.max of the container)");
    }
    std::unique_lock lock(start_->mutex);
    const auto limit = std::chrono::duration<double>(timeout_seconds);
    if (!start_->changed.wait_for(lock, limit, [this] { return start_->started; })) {
      const std::string rank = told("OMPI_COMM_WORLD_RANK"), size = told("OMPI_COMM_WORLD_SIZE");
      throw std::runtime_error("process " + (rank.empty() ? "?" : rank) + " of " +
                               (size.empty() ? "?" : size) + " waited " +
                               std::to_string(static_cast<int>(timeout_seconds)) +
                               " s, and not all other processes came: all processes that mpirun starts must "
                               "be shardlens-cli with --comm mpi, and their machines must reach each other" +
                               stopped_siblings_text(std::atoi(size.c_str())));
    }
    check(start_->problem, "MPI_Init_thread");
    lock.unlock();
    keep_open_mpi_quiet();
    if (start_->threads < MPI_THREAD_SERIALIZED)
      throw std::runtime_error("only one thread may call this MPI; install Open MPI 4, which allows several");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &index_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &count_), "MPI_Comm_size");
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    host_.assign(name, static_cast<size_t>(length));
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    check(MPI_Get_library_version(version, &length), "MPI_Get_library_version");
    carrier_.assign(version, static_cast<size_t>(length));
    carrier_ = carrier_.substr(0, carrier_.find(','));
  }

  ~MpiProcesses() override { end(kLastSeconds); }

  bool end(double seconds) override {
    std::unique_lock lock(start_->mutex);
    start_->ending = true;
    start_->changed.notify_all();
    return start_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                    [this] { return start_->ended; });
  }

  int index() const override { return index_; }
  int count() const override { return count_; }
  std::string host() const override { return host_; }
  std::string carrier() const override { return carrier_; }

  Ticket send(int to, int tag, const void* bytes, size_t count) override {
    const auto lock = own_mpi();
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(bytes, static_cast<int>(count), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request),
          "MPI_Isend");
    return keep(request);
  }

  Ticket receive(int from, int tag, void* bytes, size_t count) override {
    const auto lock = own_mpi();
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(bytes, static_cast<int>(count), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request),
          "MPI_Irecv");
    return keep(request);
  }

  bool is_done(Ticket ticket) override {
    const auto lock = own_mpi();
    const auto found = requests_.find(ticket);
    int done = 0;
    check(MPI_Test(&found->second, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) requests_.erase(found);
    return done != 0;
  }

  void give_up(Ticket ticket) override {
    const auto lock = own_mpi();
    const auto found = requests_.find(ticket);
    MPI_Cancel(&found->second);
    // A receive that has begun ends on its own unless its sender is gone, and then no more bytes are written.
    int done = 0;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (done == 0 && std::chrono::steady_clock::now() < limit)
      if (MPI_Test(&found->second, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    if (done == 0 && found->second != MPI_REQUEST_NULL) MPI_Request_free(&found->second);
    requests_.erase(found);
  }

  std::optional<Incoming> incoming(int tag) override {
    const auto lock = own_mpi();
    int there = 0, count = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
    if (there == 0) return std::nullopt;
    check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    return Incoming{status.MPI_SOURCE, static_cast<size_t>(count)};
  }

 private:
  Ticket keep(MPI_Request request) {
    requests_.emplace(++last_, request);
    return last_;
  }

  // MPI does not block, but it reads memory that it shares with the other processes: if one of them was
  // stopped while it changed that memory, a call of ours may hang.
  std::unique_lock<std::timed_mutex> own_mpi() {
    std::unique_lock lock(mutex_, longest_call_);
    if (!lock) throw std::runtime_error("a call to MPI has not returned for a long time");
    return lock;
  }

  const std::shared_ptr<Start> start_;
  const std::chrono::duration<double> longest_call_;
  int index_ = 0, count_ = 1;
  std::string host_, carrier_;
  std::timed_mutex mutex_;
  std::map<Ticket, MPI_Request> requests_;
  Ticket last_ = 0;
};

}  // namespace
}  // namespace shardlens

extern "C" shardlens::Processes* shardlens_mpi_processes(double timeout_seconds) {
  return new shardlens::MpiProcesses(timeout_seconds);
}
