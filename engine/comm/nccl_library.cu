// Opens libnccl.so.2 and finds its functions.
#include <dlfcn.h>

#include "engine/comm/nccl.h"
#include "engine/comm/nccl_library.h"

namespace shardlens {

namespace {

// The oldest version that has non-blocking communicators and every function used here.
constexpr int kOldestVersion = 21800;

NcclLibrary open_library() {
  NcclLibrary library;
  void* const file = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    const char* const problem = dlerror();
    library.why =
        std::string("NCCL was not found (") + (problem == nullptr ? "unknown error" : problem) +
        "); install it (pip install --user nvidia-nccl-cu13), or set SHARDLENS_CUDA_LIBRARIES to the "
        "folder of libnccl.so.2";
    return library;
  }
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
    if (function == nullptr) missing = name;
  };
  decltype(&ncclGetVersion) version = nullptr;
  find(version, "ncclGetVersion");
  find(library.error_string, "ncclGetErrorString");
  find(library.last_error, "ncclGetLastError");
  find(library.unique_id, "ncclGetUniqueId");
  find(library.init_rank, "ncclCommInitRankConfig");
  find(library.async_error, "ncclCommGetAsyncError");
  find(library.abort, "ncclCommAbort");
  find(library.finalize, "ncclCommFinalize");
  find(library.destroy, "ncclCommDestroy");
  find(library.all_reduce, "ncclAllReduce");
  find(library.reduce, "ncclReduce");
  find(library.reduce_scatter, "ncclReduceScatter");
  find(library.all_gather, "ncclAllGather");
  find(library.broadcast, "ncclBroadcast");
  find(library.send, "ncclSend");
  find(library.receive, "ncclRecv");
  find(library.group_start, "ncclGroupStart");
  find(library.group_end, "ncclGroupEnd");
  int found = 0;
  if (version != nullptr) version(&found);
  if (!missing.empty() || found < kOldestVersion) {
    library.why = "NCCL " + std::to_string(found) + (missing.empty() ? "" : ", without " + missing + ",") +
                  " is too old; install 2.18 or newer (pip install --user nvidia-nccl-cu13)";
    return library;
  }
  library.version = found;
  return library;
}

}  // namespace

const NcclLibrary& nccl_library() {
  static const NcclLibrary library = open_library();
  return library;
}

int nccl_version(std::string* why) {
  *why = nccl_library().why;
  return nccl_library().version;
}

}  // namespace shardlens
