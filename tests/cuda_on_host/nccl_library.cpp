// NCCL played by threads: communicators that find each other by their id, and collectives by their
// definitions, done when they are asked for. Sums are the local communicator's, in rank order.
#include "engine/comm/nccl_library.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/comm/nccl.h"

namespace {

using namespace shardlens;

struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  size_t came = 0;
  std::vector<std::unique_ptr<Communicator>> group;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> sent;  ///< from, to
};

std::mutex boards_mutex;
std::map<std::string, std::shared_ptr<Board>> boards;

thread_local std::vector<std::function<void()>> receives;

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

}  // namespace

struct ncclComm {
  std::shared_ptr<Board> board;
  int rank = 0;
  Communicator& own() const { return *board->group[static_cast<size_t>(rank)]; }
  int ranks() const { return static_cast<int>(board->group.size()); }
  Slicing sliced(size_t count) const { return {1, static_cast<int64_t>(count) * ranks(), 1}; }
};

const char* ncclGetErrorString(ncclResult_t) {
  return "played";
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
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t*) {
  const std::lock_guard lock(boards_mutex);
  std::shared_ptr<Board>& board = boards[id.internal];
  if (!board) {
    board = std::make_shared<Board>();
    board->group = make_local_group(ranks);
  }
  const std::lock_guard coming(board->mutex);
  ++board->came;
  *comm = new ncclComm{board, rank};
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::lock_guard lock(comm->board->mutex);
  *error = comm->board->came < comm->board->group.size() ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t) {
  if (from != to) std::memcpy(to, from, bytes_of(count, type));
  comm->own().all_reduce(dtype_of(type), static_cast<int64_t>(count), to,
                         op == ncclMax ? Reduction::Max : Reduction::Sum);
  return ncclSuccess;
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  std::vector<char> sum(bytes_of(count, type) + 1);
  ncclAllReduce(from, sum.data(), count, type, op, comm, stream);
  if (comm->rank == root && count > 0) std::memcpy(to, sum.data(), bytes_of(count, type));
  return ncclSuccess;
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t comm, cudaStream_t) {
  comm->own().reduce_scatter(dtype_of(type), comm->sliced(count), from, to);
  return ncclSuccess;
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t) {
  comm->own().all_gather(dtype_of(type), comm->sliced(count), from, to);
  return ncclSuccess;
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t) {
  if (comm->rank == root && from != to && count > 0) std::memcpy(to, from, bytes_of(count, type));
  comm->own().broadcast(dtype_of(type), static_cast<int64_t>(count), root, to);
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t) {
  const auto* first = static_cast<const char*>(from);
  const std::lock_guard lock(comm->board->mutex);
  comm->board->sent[{comm->rank, peer}].emplace_back(first, first + bytes_of(count, type));
  comm->board->changed.notify_all();
  return ncclSuccess;
}
// A rank's sends go first: nobody waits for what is sent behind a receive.
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t) {
  receives.push_back([=] {
    std::unique_lock lock(comm->board->mutex);
    auto& box = comm->board->sent[{peer, comm->rank}];
    comm->board->changed.wait(lock, [&] { return !box.empty(); });
    if (box.front().size() != bytes_of(count, type)) throw run_error("a message of another size was sent");
    if (!box.front().empty()) std::memcpy(to, box.front().data(), box.front().size());
    box.pop_front();
  });
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  for (const auto& receive : receives) receive();
  receives.clear();
  return ncclSuccess;
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

}  // namespace shardlens
