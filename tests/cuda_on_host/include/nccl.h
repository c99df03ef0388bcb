// The part of NCCL's interface that engine/comm/nccl.cu uses. nccl_library.cpp, next to this folder,
// implements it.
#pragma once

#include <cstddef>
#include <string>

#include "cuda_runtime.h"

struct ncclComm;
using ncclComm_t = ncclComm*;
struct ncclUniqueId {
  char internal[128];
};
enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
};
enum ncclDataType_t { ncclInt8, ncclInt32, ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16 };
enum ncclRedOp_t { ncclSum, ncclMax };
struct ncclConfig_t {
  int blocking;
  int maxCTAs;
};
#define NCCL_CONFIG_INITIALIZER \
  { 1, 0 }
/// What the communicator made last was allowed; 0: all that the library likes.
int last_blocks_allowed();
/// How many calls of communicators have come to be on their streams.
int calls_begun();
/// How many times a communicator has connected by one of its calls, and not when it was made: for its first
/// collective, and for its first send.
int late_connections();
/// From now on communicators are aborted when so many are being, or after some seconds; whether they met so.
void let_aborts_wait_for(int count);
bool aborts_met();
/// With true, aborts do not return from now on; with false, they do, also those that are waiting.
void let_aborts_hang(bool hang);
/// How many communicators were aborted by now, and how many finalized and then destroyed.
int communicators_aborted();
int communicators_destroyed();
/// A blocking communicator's calls to that rank's function of NCCL do not return until this is another one.
void let_call_hang(int rank);

/// From now on the communicators of rank `rank` of their group fail: the function of that name says `result`,
/// once, or their state does (ncclCommGetAsyncError), from their next call on. Of no rank: none does.
void fail_nccl(int rank, const std::string& function = {}, ncclResult_t result = ncclSuccess);

const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
