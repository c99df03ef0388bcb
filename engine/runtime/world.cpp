// The world of one process.
#include "engine/runtime/world.h"

#include <algorithm>

#include "engine/device/device.h"
#include "engine/runtime/backend.h"
#include "engine/runtime/holders.h"

namespace shardlens {
namespace {

class LocalSeats final : public Seats {
 public:
  LocalSeats(std::shared_ptr<const Plan> plan, std::shared_ptr<Backend> backend)
      : plan_(std::move(plan)), backend_(std::move(backend)) {}

  bool is_here(int) const override { return true; }

  std::vector<RankGroups> make_groups() override {
    const Program& program = plan_->program;
    const int world = program.tp() * program.dp();
    std::vector<RankGroups> groups(static_cast<size_t>(world));
    const auto at = [&](int replica, int rank) -> RankGroups& {
      return groups[static_cast<size_t>(replica * program.tp() + rank)];
    };
    for (int r = 0; r < program.tp(); ++r) {
      auto copies = backend_->make_group(program.dp(), world);
      for (int d = 0; d < program.dp(); ++d) at(d, r).replicas = std::move(copies[static_cast<size_t>(d)]);
    }
    const int holding = most_copies(program);
    for (int d = 0; d < program.dp(); ++d) {
      auto neighbours = backend_->make_group(program.tp(), world);
      for (int r = 0; r < program.tp(); ++r) at(d, r).layer = std::move(neighbours[static_cast<size_t>(r)]);
      for (int first = 0; first < program.tp(); first += holding) {
        const int count = std::min(holding, program.tp() - first);
        auto holders = backend_->make_group(count, world);
        for (int r = 0; r < count; ++r)
          at(d, first + r).same_slice = std::move(holders[static_cast<size_t>(r)]);
      }
    }
    return groups;
  }

  int cores_per_rank() const override {
    return std::max(1, available_cores() / (plan_->program.tp() * plan_->program.dp()));
  }

  std::unique_ptr<Device> make_device(int rank, int threads) override {
    return backend_->make_device(rank, threads);
  }

  CommunicatorInfo announce(CommunicatorInfo info) const override {
    if (!backend_->why().empty()) info.reason += "; " + backend_->why();
    return info;
  }

  const std::shared_ptr<Backend>& backend() const { return backend_; }

 private:
  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<Backend> backend_;
};

class LocalWorld final : public World {
 public:
  std::unique_ptr<Seats> take_seats(std::shared_ptr<const Plan> plan, const Seats* lender) override {
    // A run over another executor's memory uses the devices where that memory is.
    const auto* const local = dynamic_cast<const LocalSeats*>(lender);
    return take_local_seats(plan, local != nullptr ? local->backend() : make_backend(plan->program.settings));
  }
};

World* joined_world = nullptr;

}  // namespace

std::unique_ptr<Seats> take_local_seats(std::shared_ptr<const Plan> plan, std::shared_ptr<Backend> backend) {
  return std::make_unique<LocalSeats>(std::move(plan), std::move(backend));
}

World& local_world() {
  static LocalWorld world;
  return world;
}

World& world_of(const Plan& plan) {
  const bool alone = plan.program.tp() * plan.program.dp() == 1;
  return joined_world == nullptr || alone ? local_world() : *joined_world;
}

void set_joined_world(World* world) {
  joined_world = world;
}

}  // namespace shardlens
