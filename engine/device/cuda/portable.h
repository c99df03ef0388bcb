// Functions that run on both sides: index maps, random draws and the formulas of single elements are written
// once in headers that a kernel includes and a plain C++ test too, so that what no GPU is needed for is
// checked without one.
#pragma once

#ifdef __CUDACC__
#define SHARDLENS_BOTH __host__ __device__ __forceinline__
#else
#define SHARDLENS_BOTH inline
#endif
