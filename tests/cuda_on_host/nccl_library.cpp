// Simulates NCCL on streams: communicators find each other by their id, and collectives follow their
// definitions. They are non-blocking, as nccl.cu requests: a call returns before its work is on the stream;
// the work is queued when the caller asks for the communicator's state. With NCCL_COMM_BLOCKING=1 they are
// blocking: a call returns when its work is on the stream, and the start when all ranks have come. On the
// stream the work waits for all ranks. Then the local communicator does each rank's part, so sums are in rank
// order, as in that communicator; but 16-bit ones are rounded after every rank's term, as NCCL's are.
#include "engine/comm/nccl_library.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/comm/local_kernels.h"
#include "engine/comm/nccl.h"
#include "tests/cuda_on_host/streams.h"

namespace {

using namespace shardlens;

/// How often the state of a communicator is asked for until a call's work is on its stream. Each rank's takes
/// a millisecond longer than the one's before.
constexpr int kAskedBefore = 3;

/// What the ranks of a group have asked for in one call each, by rank.
struct PlayedCall {
  std::vector<std::function<void()>> parts;
  size_t came = 0;
  bool done = false;
};

struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  size_t came = 0;
  std::atomic<bool> left = false;  ///< by a rank that aborted: nothing is done any more
  std::vector<std::unique_ptr<Communicator>> group;
  std::deque<PlayedCall> calls;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> sent;  ///< from, to
};

// What is not destroyed at the end is what the thread of a rank that was let go may still use then.
std::mutex boards_mutex, mail_mutex, failure_mutex;
int failing_rank = -1;
std::string& failing_function = *new std::string;
ncclResult_t failing_result = ncclSuccess;
std::atomic<int> blocks_allowed = 0, begun = 0, awaited_aborts = 0, aborts = 0, connections = 0,
                 aborted_ones = 0, destroyed_ones = 0, hanging_rank = -1;
std::atomic<bool> met = true, aborts_hang = false;
std::map<std::string, std::shared_ptr<Board>>& boards = *new std::map<std::string, std::shared_ptr<Board>>;

/// What fail_nccl() has the function say on that rank, the first time.
ncclResult_t failure_of(const std::string& function, int rank) {
  const std::lock_guard lock(failure_mutex);
  if (rank != failing_rank || function != failing_function) return ncclSuccess;
  failing_rank = -1;
  return failing_result;
}
/// What it has the state be of a communicator that goes on failing.
ncclResult_t state_of(int rank) {
  const std::lock_guard lock(failure_mutex);
  const bool fails = rank == failing_rank && failing_function == "ncclCommGetAsyncError";
  return fails ? failing_result : ncclSuccess;
}

DType dtype_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat64:
      return DType::Fp64;
    case ncclFloat16:
      return DType::Fp16;
    case ncclBfloat16:
      return DType::Bf16;
    default:
      return DType::Fp32;
  }
}

size_t bytes_of(size_t count, ncclDataType_t type) {
  return type == ncclInt8 ? count : count * static_cast<size_t>(element_bytes(dtype_of(type)));
}

/// Whether ranks connect in their first collective, as NCCL's environment says.
bool connects_late() {
  const char* const value = std::getenv("NCCL_RUNTIME_CONNECT");
  return value == nullptr || std::string(value) != "0";
}

bool blocks() {
  const char* const value = std::getenv("NCCL_COMM_BLOCKING");
  return value != nullptr && std::string(value) == "1";
}

}  // namespace

struct ncclComm {
  std::shared_ptr<Board> board;
  int rank = 0;
  bool connected = false;  ///< for collectives
  bool is_blocking = false;
  bool connected_to_each = false;  ///< for sends, which always connect late
  int finalized = -1;              ///< how often its state must still be asked for until it is; -1: not begun
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
  size_t calls = 0;                ///< it has made
  std::mutex mutex{};              ///< of what follows
  int asked = 0;                   ///< since the last call, for its state
  std::function<void()> begins{};  ///< puts that call on its stream

  Communicator& own() const { return *board->group[static_cast<size_t>(rank)]; }
  int ranks() const { return static_cast<int>(board->group.size()); }
  Slicing sliced(size_t count) const { return {1, static_cast<int64_t>(count) * ranks(), 1}; }
};

namespace {

/// What one thread has asked for between ncclGroupStart() and ncclGroupEnd().
struct OpenGroup {
  int depth = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  bool sends = false;
  std::vector<std::function<void()>> first, last;
};
thread_local OpenGroup open_group;

/// On a stream: has come, waits for the other ranks, and the last one does all parts.
bool take_part(Board& board, size_t number, size_t rank, const std::function<void()>& part, bool& came) {
  const std::lock_guard lock(board.mutex);
  PlayedCall& call = board.calls[number];
  if (!came) {
    came = true;
    call.parts.resize(board.group.size());
    call.parts[rank] = part;
    if (++call.came == board.group.size() && !board.left) {
      std::vector<std::jthread> ranks;
      for (const auto& one : call.parts) ranks.emplace_back(one);
      ranks.clear();
      call.done = true;
    }
  }
  return call.done;
}

/// Puts the last call of a communicator on its stream.
void put_on_stream(ncclComm& comm, const std::function<void()>& begins) {
  std::this_thread::sleep_for(std::chrono::milliseconds(comm.rank));
  begins();
  ++begun;
}

ncclResult_t end_call() {
  OpenGroup group = std::exchange(open_group, {});
  if (group.comm == nullptr) return ncclSuccess;
  ncclComm& comm = *group.comm;
  while (comm.is_blocking && hanging_rank == comm.rank) std::this_thread::yield();
  std::unique_lock lock(comm.mutex);
  if (comm.begins || comm.finalized >= 0)
    return ncclInvalidUsage;  // the call before is not on its stream yet
  if (!std::exchange(group.sends ? comm.connected_to_each : comm.connected, true)) ++connections;
  const size_t number = comm.calls++;
  {
    const std::lock_guard board(comm.board->mutex);
    while (comm.board->calls.size() <= number) comm.board->calls.emplace_back();
  }
  const auto part = [first = std::move(group.first), last = std::move(group.last)] {
    for (const auto& one : first) one();
    for (const auto& one : last) one();
  };
  comm.asked = 0;
  comm.begins = [stream = group.stream, board = comm.board, number, rank = static_cast<size_t>(comm.rank),
                 part, aborted = comm.aborted] {
    on_host::ask_again(stream, [board, number, rank, part, aborted, came = false]() mutable {
      return *aborted || take_part(*board, number, rank, part, came);
    });
  };
  if (!comm.is_blocking) return ncclInProgress;
  const std::function<void()> begins = std::exchange(comm.begins, nullptr);
  lock.unlock();
  put_on_stream(comm, begins);
  return ncclSuccess;
}

enum class Kind { Other, Send, Receive };

/// One collective of a call, which a group may hold several of.
ncclResult_t ask_for(ncclComm_t comm, cudaStream_t stream, std::function<void()> what,
                     Kind kind = Kind::Other) {
  open_group.comm = comm;
  open_group.stream = stream;
  open_group.sends = kind != Kind::Other;
  (kind == Kind::Receive ? open_group.last : open_group.first).push_back(std::move(what));
  return open_group.depth > 0 ? ncclSuccess : end_call();
}

/// Rounds each of the sums after every rank's term.
void sum_by_hops(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm) {
  const DType dtype = dtype_of(type);
  const size_t bytes = bytes_of(count, type);
  std::vector<char> all(bytes * static_cast<size_t>(comm->ranks()) + 1);
  comm->own().all_gather(dtype, {1, static_cast<int64_t>(count) * comm->ranks(), 1}, from, all.data());
  std::vector<char> total(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(bytes));
  for (int rank = 1; rank < comm->ranks(); ++rank)
    sum_in_order(dtype,
                 std::vector<const void*>{total.data(), all.data() + static_cast<size_t>(rank) * bytes}, 0,
                 std::vector<void*>{total.data()}, 0, static_cast<int64_t>(count));
  if (count > 0) std::memcpy(to, total.data(), bytes);
}

void sum(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm) {
  if (op == ncclSum && (type == ncclFloat16 || type == ncclBfloat16))
    return sum_by_hops(from, to, count, type, comm);
  if (from != to && count > 0) std::memcpy(to, from, bytes_of(count, type));
  comm->own().all_reduce(dtype_of(type), static_cast<int64_t>(count), to,
                         op == ncclMax ? Reduction::Max : Reduction::Sum);
}

}  // namespace

int last_blocks_allowed() {
  return blocks_allowed;
}
int calls_begun() {
  return begun;
}
int late_connections() {
  return connections;
}
void let_aborts_hang(bool hang) {
  aborts_hang = hang;
}
void let_call_hang(int rank) {
  hanging_rank = rank;
}
int communicators_aborted() {
  return aborted_ones;
}
int communicators_destroyed() {
  return destroyed_ones;
}
void let_aborts_wait_for(int count) {
  awaited_aborts = count;
  aborts = 0;
  met = true;
}
bool aborts_met() {
  awaited_aborts = 0;
  return met;
}

void fail_nccl(int rank, const std::string& function, ncclResult_t result) {
  const std::lock_guard lock(failure_mutex);
  failing_rank = rank;
  failing_function = function;
  failing_result = result;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "played";
  }
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  const std::lock_guard lock(boards_mutex);
  const std::string text = "group " + std::to_string(++made);
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, text.data(), text.size());
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (const ncclResult_t failure = failure_of("ncclCommInitRankConfig", rank)) return failure;
  blocks_allowed = config->maxCTAs;
  std::shared_ptr<Board> board;
  {
    const std::lock_guard lock(boards_mutex);
    std::shared_ptr<Board>& known = boards[id.internal];
    if (!known) {
      known = std::make_shared<Board>();
      known->group = make_local_group(ranks);
    }
    board = known;
  }
  const bool is_blocking = blocks() || config->blocking != 0;
  {
    const std::lock_guard coming(board->mutex);
    ++board->came;
    *comm = new ncclComm{board, rank, !connects_late(), is_blocking};
  }
  if (!is_blocking) return ncclInProgress;
  const auto all_came = [&] {
    const std::lock_guard coming(board->mutex);
    return board->came == board->group.size();
  };
  while (!all_came()) std::this_thread::yield();
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  std::function<void()> begins;
  {
    const std::lock_guard lock(comm->mutex);
    if (comm->begins && ++comm->asked >= kAskedBefore) begins = std::exchange(comm->begins, nullptr);
    if (comm->finalized > 0) --comm->finalized;
    *error = comm->begins || comm->finalized > 0 ? ncclInProgress : ncclSuccess;
  }
  if (begins) put_on_stream(*comm, begins);
  const std::lock_guard lock(comm->board->mutex);
  if (comm->board->came < comm->board->group.size()) *error = ncclInProgress;
  if (const ncclResult_t failure = state_of(comm->rank)) *error = failure;
  return ncclSuccess;
}
namespace {
void keep(ncclComm_t comm) {
  static std::vector<std::unique_ptr<ncclComm>>& kept = *new std::vector<std::unique_ptr<ncclComm>>;
  const std::lock_guard lock(boards_mutex);
  kept.emplace_back(comm);
}
}  // namespace

// What waits on a stream for other ranks goes on. What the communicator was may still be asked for by it.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  ++aborts;
  const auto begin = std::chrono::steady_clock::now();
  while (aborts < awaited_aborts && met) {
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(2)) met = false;
  }
  while (aborts_hang) std::this_thread::yield();
  *comm->aborted = true;
  comm->board->left = true;
  on_host::look_again();
  ++aborted_ones;
  keep(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const std::lock_guard lock(comm->mutex);
  if (comm->begins || comm->finalized >= 0) return ncclInvalidUsage;
  comm->finalized = comm->is_blocking ? 0 : kAskedBefore;
  return comm->is_blocking ? ncclSuccess : ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm->finalized != 0) return ncclInvalidUsage;
  ++destroyed_ones;
  keep(comm);
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (const ncclResult_t failure = failure_of("ncclAllReduce", comm->rank)) return failure;
  return ask_for(comm, stream, [=] { sum(from, to, count, type, op, comm); });
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return ask_for(comm, stream, [=] {
    std::vector<char> all(bytes_of(count, type) + 1);
    sum(from, all.data(), count, type, op, comm);
    if (comm->rank == root && count > 0) std::memcpy(to, all.data(), bytes_of(count, type));
  });
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return ask_for(comm, stream, [=] {
    const size_t all = count * static_cast<size_t>(comm->ranks()), bytes = bytes_of(count, type);
    std::vector<char> total(bytes_of(all, type) + 1);
    sum(from, total.data(), all, type, op, comm);
    if (count > 0) std::memcpy(to, total.data() + static_cast<size_t>(comm->rank) * bytes, bytes);
  });
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return ask_for(comm, stream,
                 [=] { comm->own().all_gather(dtype_of(type), comm->sliced(count), from, to); });
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return ask_for(comm, stream, [=] {
    if (comm->rank == root && from != to && count > 0) std::memcpy(to, from, bytes_of(count, type));
    comm->own().broadcast(dtype_of(type), static_cast<int64_t>(count), root, to);
  });
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return ask_for(
      comm, stream,
      [=, board = comm->board] {
        const auto* first = static_cast<const char*>(from);
        const std::lock_guard lock(mail_mutex);
        board->sent[{comm->rank, peer}].emplace_back(first, first + bytes_of(count, type));
        board->changed.notify_all();
      },
      Kind::Send);
}
// A rank's sends go first: nobody waits for what is sent behind a receive.
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  const auto receive = [=, board = comm->board] {
    std::unique_lock lock(mail_mutex);
    auto& box = board->sent[{peer, comm->rank}];
    board->changed.wait(lock, [&] { return !box.empty(); });
    if (box.front().size() != bytes_of(count, type)) throw run_error("a message of another size was sent");
    if (!box.front().empty()) std::memcpy(to, box.front().data(), box.front().size());
    box.pop_front();
  };
  return ask_for(comm, stream, receive, Kind::Receive);
}
ncclResult_t ncclGroupStart() {
  ++open_group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  return --open_group.depth > 0 ? ncclSuccess : end_call();
}

namespace shardlens {

const NcclLibrary& nccl_library() {
  static const NcclLibrary library = [] {
    NcclLibrary all;
    all.version = 23003;
    all.error_string = ncclGetErrorString;
    all.last_error = ncclGetLastError;
    all.unique_id = ncclGetUniqueId;
    all.init_rank = ncclCommInitRankConfig;
    all.async_error = ncclCommGetAsyncError;
    all.abort = ncclCommAbort;
    all.finalize = ncclCommFinalize;
    all.destroy = ncclCommDestroy;
    all.all_reduce = ncclAllReduce;
    all.reduce = ncclReduce;
    all.reduce_scatter = ncclReduceScatter;
    all.all_gather = ncclAllGather;
    all.broadcast = ncclBroadcast;
    all.send = ncclSend;
    all.receive = ncclRecv;
    all.group_start = ncclGroupStart;
    all.group_end = ncclGroupEnd;
    return all;
  }();
  return library;
}

int nccl_version(std::string* why) {
  why->clear();
  return nccl_library().version;
}

}  // namespace shardlens
