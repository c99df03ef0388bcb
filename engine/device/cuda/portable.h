// The macro for functions that run on both host and GPU: index maps, random draws and formulas of single
// elements. They are in headers that kernels and plain C++ tests include, so they can be tested without a
// GPU.
#pragma once

#ifdef __CUDACC__
#define SHARDLENS_BOTH __host__ __device__ __forceinline__
#else
#define SHARDLENS_BOTH inline
#endif
