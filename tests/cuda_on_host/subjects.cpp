// The device under test here: the CUDA device, with its kernels simulated on the host.
#include "tests/engine/device/subjects.h"

#include "engine/device/cuda/cuda_device.h"

namespace shardlens {

std::vector<Subject> subjects() {
  return {{"CudaPlayedOnTheHost", [] { return make_cuda_device(0); }}};
}

}  // namespace shardlens
