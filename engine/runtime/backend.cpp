// The CPU: a share of the cores a rank, and groups of threads.
#include "engine/runtime/backend.h"

#include "engine/runtime/run_failure.h"

namespace shardlens {
namespace {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(double patience_seconds) : patience_seconds_(patience_seconds) {}

  std::unique_ptr<Device> make_device(int, int threads) override { return make_cpu_device(threads); }

  std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int threads) override {
    return make_local_group(ranks, threads, patience_seconds_);
  }

 private:
  const double patience_seconds_;
};

}  // namespace

std::shared_ptr<Backend> make_backend(const Settings& settings) {
  return std::make_shared<CpuBackend>(timeout_seconds(settings));
}

}  // namespace shardlens
