// The CPU: a share of the cores a rank, and groups of threads.
#include "engine/runtime/backend.h"

namespace shardlens {
namespace {

class CpuBackend final : public Backend {
 public:
  std::unique_ptr<Device> make_device(int, int threads) override { return make_cpu_device(threads); }

  std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int threads) override {
    return make_local_group(ranks, threads);
  }
};

}  // namespace

std::shared_ptr<Backend> make_backend(const Settings&) {
  return std::make_shared<CpuBackend>();
}

}  // namespace shardlens
