// What every kind of team does: it opens the weights, makes and feeds a rank's memory, and shows tensors.
#include "engine/runtime/team.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "engine/base/worker.h"
#include "engine/program/overlap_waits.h"
#include "engine/runtime/checksum.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/lockstep_team.h"
#include "engine/runtime/rank_team.h"

namespace shardlens {
namespace {

// For a run without given inputs: unscaled, fp16's small gradients would be zero.
constexpr double kFp16LossScale = 1024;

// The places of lent tensors in a plan, by name: offset and bytes on each rank.
using Places = std::map<std::string, std::vector<std::pair<int64_t, int64_t>>>;
Places lent_places(const Plan& plan) {
  Places places;
  for (const Tensor& tensor : plan.program.tensors) {
    if (tensor.storage != kNoTensor || !Arenas::is_lent(tensor.kind)) continue;
    const auto id = static_cast<size_t>(tensor.id);
    for (const MemoryPlan& rank : plan.memory)
      places[tensor.name].push_back({rank.offset[id], rank.bytes[id]});
  }
  return places;
}

}  // namespace

Team::Team(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender, std::unique_ptr<Seats> seats)
    : plan_(std::move(plan)), lender_(std::move(lender)), seats_(std::move(seats)) {
  const Program& program = plan_->program;
  if (lender_ && lent_places(*lender_->plan_) != lent_places(*plan_))
    throw std::logic_error(
        "a Program can run over another Program's memory only if both lay out the same weights");
  feed_ = std::make_unique<Feed>(program);
  // Borrowed weights were already checked against their checksum by the team that lends them.
  if (!lender_)
    for (const std::string& file : feed_->weight_files()) require_as_saved(file);
  behind_lane_ = waits_for_overlapped(program);
  if (program.settings.block == Block::Model)
    inputs_.batch = std::make_shared<const Batch>(seeded_batch(program.settings));
  if (program.settings.dtype == DType::Fp16) inputs_.loss_scale = kFp16LossScale;
  std::vector<RankGroups> groups = seats_->make_groups();
  for (int world = 0; world < program.tp() * program.dp(); ++world) {
    const bool here = seats_->is_here(world);
    ranks_.push_back(
        here || seats_->commands()
            ? std::make_unique<Rank>(*plan_, world, here, std::move(groups[static_cast<size_t>(world)]))
            : nullptr);
  }
}

Team::~Team() = default;

void Team::make_memory(Rank& rank, bool overlaps) {
  const auto place = static_cast<size_t>(rank.world());
  const int threads = plan_->program.settings.threads_per_rank;
  rank.threads = threads > 0 ? threads : seats_->cores_per_rank();
  rank.device = seats_->make_device(static_cast<int>(place), rank.threads);
  RankMemory* const lender = !lender_ ? nullptr : lender_->ranks_[place]->memory.get();
  rank.memory = std::make_unique<RankMemory>(*plan_, *feed_, *rank.device,
                                             RankMemory::Owner{rank.index, rank.replica, rank.threads},
                                             lender == nullptr ? nullptr : &lender->arenas());
  rank.prepare(overlaps);
  rank.memory->feed_shared_inputs();
  rank.memory->feed_lasting(lender_ == nullptr);
}

void Team::feed_pass(Rank& rank, uint64_t pass, uint64_t weights_of) {
  const bool anew = rank.weights_of != weights_of;
  rank.weights_of = weights_of;
  const bool kept = !std::exchange(rank.written, false) && !anew;
  for (const auto& observer : observers_)
    if (rank.replica == 0) observer->on_pass(rank.index, pass, kept);
  if (anew) rank.memory->feed_lasting(true);
  rank.memory->feed_pass_inputs(inputs_);
  for (const Tensor& tensor : plan_->program.tensors) {
    const bool shown = tensor.kind == MemoryKind::Input || tensor.kind == MemoryKind::Weight;
    if (shown && tensor.storage == kNoTensor) show(rank, -1, tensor);
  }
}

void Team::show(int replica, int rank, StepId step, const Tensor& tensor, const void* data) const {
  for (const auto& observer : observers_) {
    if (!observer->wants(tensor)) continue;
    if (replica == 0) {
      observer->on_tensor(rank, step, tensor, data);
    } else {
      observer->on_replica_tensor(replica, rank, step, tensor, data);
    }
  }
}

void Team::show(Rank& rank, StepId step, const Tensor& tensor) const {
  const bool wanted = std::any_of(observers_.begin(), observers_.end(),
                                  [&](const auto& observer) { return observer->wants(tensor); });
  if (!wanted) return;
  const RankMemory::HostCopy copy = rank.memory->host_copy(tensor);
  if (rank.asked) rank.asked->break_off();
  for (const auto& observer : observers_)
    if (rank.replica == 0 && copy.seconds > 0 && observer->wants(tensor))
      observer->on_copy(rank.index, tensor, copy.seconds);
  show(rank.replica, rank.index, step, tensor, copy.data);
}

void Team::next_pass(PassInputs inputs) {
  next_pass();
  set_inputs(std::move(inputs));
}

void Team::wait() {
  while (!wait_for(kPieceSeconds)) take_turns(0);
  take_turns(0);
}

CommunicatorInfo Team::communicator() const {
  const auto here =
      std::find_if(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank && rank->here; });
  return seats_->announce((*here)->groups.layer->info());
}

std::vector<std::vector<StepEvent>> Team::events(int ranks) const {
  std::vector<std::vector<StepEvent>> events;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankTrace& track = trace(rank);
    const auto finished = static_cast<std::ptrdiff_t>(track.finished());
    events.emplace_back(track.events().begin(), track.events().begin() + finished);
  }
  return events;
}

std::shared_ptr<Team> make_team(std::shared_ptr<const Plan> plan, std::shared_ptr<Team> lender,
                                std::unique_ptr<Seats> seats) {
  if (ranks_take_turns(plan->program.settings))
    return std::make_shared<LockstepTeam>(std::move(plan), std::move(lender), std::move(seats));
  return std::make_shared<RankTeam>(std::move(plan), std::move(lender), std::move(seats));
}

}  // namespace shardlens
