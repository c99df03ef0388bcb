// The first process's seats, which pass commands on to the other processes.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "engine/io/json_text.h"
#include "engine/program/program_json.h"
#include "engine/runtime/backend.h"
#include "engine/runtime/processes/process_commands.h"
#include "engine/runtime/processes/process_world.h"
#include "engine/runtime/run_failure.h"

namespace shardlens {

namespace {
constexpr bool kAnswered = true, kUnanswered = false;
}  // namespace

// An executor's ranks: one is here, the others receive commands.
class CommandingSeats final : public Seats {
 public:
  CommandingSeats(ProcessWorld& world, int id, std::shared_ptr<const Plan> plan, const Seats* lender)
      : world_(world), id_(id), plan_(std::move(plan)), choice_(world.choose(plan_->program.settings)) {
    const auto* lending = dynamic_cast<const CommandingSeats*>(lender);
    lender_ = lending == nullptr ? -1 : lending->id_;
  }

  bool is_here(int rank) const override { return process_of(rank) == world_.processes_.index(); }
  int cores_per_rank() const override { return world_.places_.front().cores; }
  double clock_residual_seconds() const override { return world_.clocks_.residual_seconds(); }

  std::vector<RankGroups> make_groups() override {
    std::vector<RankGroups> groups(world_.places_.size());
    groups[0] = world_.groups_of(id_, plan_->program, choice_, 0);
    return groups;
  }
  std::unique_ptr<Device> make_device(int rank, int threads) override {
    return make_chosen_device(choice_, plan_->program.settings, rank, threads);
  }

  void open(SeatsListener& listener) override {
    {
      const std::lock_guard lock(world_.hearing_);
      world_.listeners_[id_] = &listener;
    }
    const std::string program = program_text(plan_->program);
    try {
      tell(ProcessCommand::Open, "to open its Program", kAnswered,
           [&](Packet& packet) { packet.put(lender_).put(program).put(plan_->delays); });
    } catch (...) {
      forget_listener();
      throw;
    }
  }

  void close() override {
    tell_if_heard(ProcessCommand::Close, [](Packet&) {});
    forget_listener();
  }

  void start(uint64_t start, size_t target, double begin_seconds, std::vector<bool> wanted) override {
    world_.align_clocks_again();
    const std::vector<char> flags(wanted.begin(), wanted.end());
    const std::string what =
        "to come to the end of " + step_text(plan_->program, static_cast<StepId>(target) - 1);
    tell(ProcessCommand::Start, what, kAnswered, [&](Packet& packet) {
      packet.put(start).put(static_cast<uint64_t>(target)).put(begin_seconds).put(flags);
    });
  }

  void rewind() override {
    tell(ProcessCommand::Rewind, "to go back to step 0", kUnanswered, [](Packet&) {});
  }
  void next_pass() override {
    tell(ProcessCommand::NextPass, "to begin the next pass", kUnanswered, [](Packet&) {});
  }

  void set_inputs(const PassInputs& inputs) override {
    tell(ProcessCommand::Inputs, "the inputs of the next pass", kUnanswered, [&](Packet& packet) {
      packet.put(inputs.numbers).put(inputs.loss_scale).put(inputs.batch != nullptr);
      if (!inputs.batch) return;
      const Batch& batch = *inputs.batch;
      packet.put(batch.tokens).put(batch.labels).put(batch.positions);
      packet.put(batch.token_types).put(batch.attention_mask).put(batch.sentence_labels);
    });
  }

  void read(int rank, TensorId tensor, void* host, size_t bytes) const override {
    const std::string what =
        "to send its piece of " + plan_->program.tensor(tensor).name + ", between two passes";
    world_.expect(rank, what);
    Packet packet;
    packet.put(ProcessCommand::Read).put(id_).put(tensor).put(static_cast<uint64_t>(bytes));
    world_.send(rank, what, std::move(packet));
    std::unique_lock lock(world_.mutex_);
    world_.changed_.wait(lock, [&] { return world_.read_.contains(rank) || !world_.lost_.empty(); });
    if (!world_.read_.contains(rank)) throw run_error(world_.lost_);
    const std::vector<char> piece = std::move(world_.read_.at(rank));
    world_.read_.erase(rank);
    if (piece.size() != bytes)
      throw run_error(fmt::format("rank {} sent no data of tensor {}", rank, tensor));
    if (bytes > 0) std::memcpy(host, piece.data(), bytes);
  }

  void write(int rank, TensorId tensor, const void* host, size_t bytes) override {
    Packet packet;
    packet.put(ProcessCommand::Write).put(id_).put(tensor).put(static_cast<uint64_t>(bytes));
    packet.put_bytes(host, bytes);
    world_.send(rank, "its piece of " + plan_->program.tensor(tensor).name + ", between two passes",
                std::move(packet));
  }

  void cancel(const std::string& why) override {
    tell_if_heard(ProcessCommand::Cancel, [&](Packet& packet) { packet.put(why); });
  }

  double silent_seconds(int rank) const override {
    const std::lock_guard lock(world_.mutex_);
    const auto owed = world_.expected_of_.find(rank);
    const bool is_asked = owed != world_.expected_of_.end() && owed->second > 0;
    return is_asked ? world_.silent_seconds_.at(rank) : 0;
  }
  bool has_ended(int rank) const override { return world_.has_ended(rank); }
  bool is_told_to_end() const override { return world_.patience_.is_told(); }

 private:
  // Another thread may be telling the listener about a lost rank now: the listener must live until that is
  // done.
  void forget_listener() {
    const std::lock_guard lock(world_.hearing_);
    world_.listeners_.erase(id_);
  }

  int process_of(int rank) const { return world_.places_[static_cast<size_t>(rank)].process; }

  template <typename Send>
  void tell_each(const Send& send) const {
    for (int rank = 0; rank < world_.processes(); ++rank)
      if (!is_here(rank)) send(rank);
  }
  template <typename Fill>
  Packet packet_of(ProcessCommand command, const Fill& fill) const {
    Packet packet;
    packet.put(command).put(id_);
    fill(packet);
    return packet;
  }
  // `what`: the command in words, for messages.
  template <typename Fill>
  void tell(ProcessCommand command, const std::string& what, bool answered, const Fill& fill) const {
    tell_each([&](int rank) {
      if (answered) world_.expect(rank, what);
      world_.send(rank, what, packet_of(command, fill));
    });
  }
  template <typename Fill>
  void tell_if_heard(ProcessCommand command, const Fill& fill) const {
    tell_each([&](int rank) { world_.send_if_heard(rank, packet_of(command, fill)); });
  }

  ProcessWorld& world_;
  const int id_;
  const std::shared_ptr<const Plan> plan_;
  const Choice choice_;
  int lender_ = -1;
};

std::unique_ptr<Seats> ProcessWorld::take_seats(std::shared_ptr<const Plan> plan, const Seats* lender) {
  const Settings& settings = plan->program.settings;
  require_size(plan->program.tp(), plan->program.dp());
  patience_.seconds = timeout_seconds(settings);
  tp_ = plan->program.tp();
  return std::make_unique<CommandingSeats>(*this, executors_++, std::move(plan), lender);
}

}  // namespace shardlens
