// The first process's side: seats whose word goes to the other processes, and the thread that hears them.
#include "engine/runtime/process_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/comm/process_group.h"
#include "engine/config/clock.h"
#include "engine/planner/holds.h"
#include "engine/program/program_json.h"
#include "engine/runtime/holders.h"
#include "engine/runtime/process_commands.h"
#include "engine/runtime/run_failure.h"

namespace shardlens {

namespace {

constexpr double kSpokenForSeconds = 2;
constexpr auto kSayEvery = std::chrono::seconds(1);
// Nothing more is sent to a process that does not go on: what it has not taken fills the way to it.
constexpr double kDoubtfulSeconds = 3;

}  // namespace

// An executor's ranks, of which one is here and the others are told.
class CommandingSeats final : public Seats {
 public:
  CommandingSeats(ProcessWorld& world, int id, std::shared_ptr<const Plan> plan, const Seats* lender)
      : world_(world), id_(id), plan_(std::move(plan)) {
    const auto* lending = dynamic_cast<const CommandingSeats*>(lender);
    lender_ = lending == nullptr ? -1 : lending->id_;
  }

  bool is_here(int rank) const override { return process_of(rank) == world_.processes_.index(); }
  int cores_per_rank() const override { return world_.places_.front().cores; }

  std::vector<RankGroups> make_groups(bool side_by_side) override {
    std::vector<RankGroups> groups(world_.places_.size());
    groups[0] = world_.groups_of(id_, plan_->program, 0, side_by_side);
    return groups;
  }

  void open(SeatsListener& listener) override {
    {
      const std::lock_guard lock(world_.hearing_);
      world_.listeners_[id_] = &listener;
    }
    const std::string program = program_to_json(plan_->program).dump();
    tell(ProcessCommand::Open, true,
         [&](Packet& packet) { packet.put(lender_).put(program).put(plan_->holds); });
  }

  void close() override {
    tell(ProcessCommand::Close, false, [](Packet&) {});
    const std::lock_guard lock(world_.hearing_);
    world_.listeners_.erase(id_);
  }

  void start(uint64_t start, size_t target, double begin_seconds, std::vector<bool> wanted) override {
    world_.align_clocks_again();
    const std::vector<char> flags(wanted.begin(), wanted.end());
    tell(ProcessCommand::Start, true, [&](Packet& packet) {
      packet.put(start).put(static_cast<uint64_t>(target)).put(begin_seconds).put(flags);
    });
  }

  void rewind() override {
    tell(ProcessCommand::Rewind, false, [](Packet&) {});
  }
  void next_pass() override {
    tell(ProcessCommand::NextPass, false, [](Packet&) {});
  }

  void set_inputs(const PassInputs& inputs) override {
    tell(ProcessCommand::Inputs, false, [&](Packet& packet) {
      packet.put(inputs.numbers).put(inputs.loss_scale).put(inputs.batch != nullptr);
      if (!inputs.batch) return;
      const Batch& batch = *inputs.batch;
      packet.put(batch.tokens).put(batch.labels).put(batch.positions);
      packet.put(batch.token_types).put(batch.attention_mask).put(batch.sentence_labels);
    });
  }

  void read(int rank, TensorId tensor, void* host, size_t bytes) const override {
    world_.expect(rank);
    Packet packet;
    packet.put(ProcessCommand::Read).put(id_).put(tensor).put(static_cast<uint64_t>(bytes));
    world_.send(rank, std::move(packet));
    std::unique_lock lock(world_.mutex_);
    world_.changed_.wait(lock, [&] { return world_.read_.contains(rank) || !world_.lost_.empty(); });
    if (!world_.read_.contains(rank)) throw run_error(world_.lost_);
    const std::vector<char> piece = std::move(world_.read_.at(rank));
    world_.read_.erase(rank);
    if (piece.size() != bytes)
      throw run_error(fmt::format("rank {} has no piece of tensor {}", rank, tensor));
    if (bytes > 0) std::memcpy(host, piece.data(), bytes);
  }

  void write(int rank, TensorId tensor, const void* host, size_t bytes) override {
    Packet packet;
    packet.put(ProcessCommand::Write).put(id_).put(tensor).put(static_cast<uint64_t>(bytes));
    packet.put_bytes(host, bytes);
    world_.send(rank, std::move(packet));
  }

  void cancel(const std::string& why) override {
    tell(ProcessCommand::Cancel, false, [&](Packet& packet) { packet.put(why); });
  }

 private:
  int process_of(int rank) const { return world_.places_[static_cast<size_t>(rank)].process; }

  template <typename Fill>
  void tell(ProcessCommand command, bool answered, const Fill& fill) const {
    for (int rank = 0; rank < world_.processes(); ++rank) {
      if (is_here(rank)) continue;
      if (answered) world_.expect(rank);
      Packet packet;
      packet.put(command).put(id_);
      fill(packet);
      world_.send(rank, std::move(packet));
    }
  }

  ProcessWorld& world_;
  const int id_;
  const std::shared_ptr<const Plan> plan_;
  int lender_ = -1;
};

std::unique_ptr<Seats> ProcessWorld::take_seats(std::shared_ptr<const Plan> plan, const Seats* lender) {
  const Settings& settings = plan->program.settings;
  const int ranks = plan->program.ranks() * plan->program.replicas();
  if (ranks != processes()) {
    throw request_error(fmt::format(
        "T = {} and D = {} are {} rank{}, and mpirun started {} process{}: start it with -n {}, or "
        "give --tp and --dp whose product is {}",
        settings.tp, settings.dp, ranks, ranks == 1 ? "" : "s", processes(), processes() == 1 ? "" : "es",
        ranks, processes()));
  }
  {
    const std::lock_guard lock(mutex_);
    patience_seconds_ = timeout_seconds(settings);
  }
  return std::make_unique<CommandingSeats>(*this, executors_++, std::move(plan), lender);
}

RankGroups ProcessWorld::groups_of(int executor, const Program& program, int rank, bool side_by_side) {
  const int tp = program.ranks();
  const int neighbour = rank % tp, replica = rank / tp;
  const int tag = kGroupTag + executor % kExecutorTags * 3;
  const Place& place = places_[static_cast<size_t>(rank)];
  const auto group = [&](int kind, int first, int step, int ranks, int own) {
    ProcessGroup made;
    for (int r = 0; r < ranks; ++r)
      made.members.push_back(places_[static_cast<size_t>(first + r * step)].process);
    made.rank = own;
    made.tag = tag + kind;
    made.has_own_core = place.has_own_core && !side_by_side;
    made.clock_offset_seconds = &clock_offset_seconds_;
    made.patience_seconds = timeout_seconds(program.settings);
    made.info = info();
    if (crosses_machines(tp)) made.info.reason += "; ranks of one layer meet across machines";
    return make_process_communicator(processes_, std::move(made));
  };
  const int copies = most_copies(program);
  const int first_holder = neighbour / copies * copies;
  RankGroups groups;
  groups.neighbours = group(0, replica * tp, 1, tp, neighbour);
  groups.copies = group(1, neighbour, tp, program.replicas(), replica);
  groups.holders =
      group(2, replica * tp + first_holder, 1, std::min(copies, tp - first_holder), neighbour - first_holder);
  return groups;
}

std::unique_ptr<Communicator> ProcessWorld::group_of_all(int number, int rank) {
  ProcessGroup group;
  for (const Place& place : places_) group.members.push_back(place.process);
  group.rank = rank;
  group.tag = kGroupTag + number % kExecutorTags * 3;
  group.has_own_core = places_[static_cast<size_t>(rank)].has_own_core;
  group.clock_offset_seconds = &clock_offset_seconds_;
  group.info = info();
  return make_process_communicator(processes_, std::move(group));
}

std::vector<AllReducePoint> ProcessWorld::bench_all_reduce(const AllReduceBench& bench) {
  const int number = executors_++;
  const auto group = group_of_all(number, 0);
  std::vector<AllReducePoint> points;
  for (const int64_t bytes : bench.sizes_bytes) {
    for (int rank = 1; rank < processes(); ++rank) {
      Packet packet;
      packet.put(ProcessCommand::Bench).put(number).put(bench.dtype).put(bench.rounds).put(bytes);
      send(rank, std::move(packet));
    }
    points.push_back(bench_rank(*group, bench, bytes));
    points.back().core_per_rank = places_.front().has_own_core;
  }
  return points;
}

void ProcessWorld::send(int rank, Packet packet) {
  commands_.send(places_[static_cast<size_t>(rank)].process, std::move(packet));
}

void ProcessWorld::expect(int rank) {
  const std::lock_guard lock(mutex_);
  ++expected_;
  ++expected_of_[rank];
  silent_seconds_[rank] = 0;
  changed_.notify_all();
}

// A process that has stopped says nothing, where one that is busy says that it is.
void ProcessWorld::look_for_lost(double looked_seconds) {
  std::string lost;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [rank, owed] : expected_of_) {
      if (owed <= 0) continue;
      silent_seconds_[rank] += looked_seconds;
      // The ranks that wait for it in a collective are to say so first: they know the step.
      if (silent_seconds_[rank] < patience_seconds_ + kSpokenForSeconds || !lost_.empty()) continue;
      lost = lost_ =
          fmt::format("rank {} is lost: its process has said nothing for {:.1f} s (time-out {:.3g} s)", rank,
                      silent_seconds_[rank], patience_seconds_);
    }
    changed_.notify_all();
  }
  if (lost.empty()) return;
  const std::lock_guard lock(hearing_);
  for (const auto& [executor, listener] : listeners_) listener->on_failure_elsewhere(ErrorKind::Run, lost);
}

// So that those who wait to be commanded know that there is still somebody to do it.
void ProcessWorld::say_alive() {
  const std::lock_guard saying(saying_);
  if (finished_) return;
  for (int rank = 1; rank < processes(); ++rank) {
    {
      const std::lock_guard lock(mutex_);
      if (expected_of_[rank] > 0 && silent_seconds_[rank] > kDoubtfulSeconds) continue;
    }
    send(rank, Packet().put(ProcessCommand::Alive));
  }
}

// Sleeps while nobody was set to work, but for saying that it is there, and asks for reports while somebody
// was.
void ProcessWorld::listen() {
  Looks looks;
  auto said = std::chrono::steady_clock::now();
  for (int idle_turns = 0;;) {
    bool asks = false;
    {
      std::unique_lock lock(mutex_);
      asks = changed_.wait_for(lock, kSayEvery, [this] { return closing_ || expected_ > 0; });
      if (closing_) return;
    }
    if (const auto now = std::chrono::steady_clock::now(); now - said >= kSayEvery) {
      said = now;
      say_alive();
    }
    if (!asks) continue;
    auto packet = reports_.poll();
    look_for_lost(looks.next_seconds());
    if (!packet) {
      const bool soon = ++idle_turns < 100;
      std::this_thread::sleep_for(std::chrono::microseconds(soon ? 20 : 200));
      continue;
    }
    idle_turns = 0;
    Packet& report = packet->second;
    const auto kind = report.take<ProcessReport>();
    const int executor = report.take<int>();
    const int rank = report.take<int>();
    {
      const std::lock_guard lock(mutex_);
      silent_seconds_[rank] = 0;
    }
    if (kind == ProcessReport::Alive) continue;
    if (kind == ProcessReport::Piece) {
      const std::lock_guard lock(mutex_);
      read_[rank] = report.take_list<char>();
    } else {
      const std::lock_guard lock(hearing_);
      const auto found = listeners_.find(executor);
      if (found == listeners_.end()) {
        // It is over for whom it was meant for.
      } else if (kind == ProcessReport::Seen) {
        const auto step = report.take<StepId>();
        const auto tensor = report.take<TensorId>();
        const std::vector<char> piece = report.take_list<char>();
        found->second->on_tensor_elsewhere(rank, step, tensor, piece.data());
      } else if (kind == ProcessReport::Failed) {
        const auto error = report.take<ErrorKind>();
        found->second->on_failure_elsewhere(error, report.take_text());
      } else {
        RankReport standing;
        standing.rank = rank;
        standing.start = report.take<uint64_t>();
        standing.high_water_bytes = report.take<BytesByKind>();
        standing.events = report.take_list<StepEvent>();
        found->second->on_report(standing);
      }
    }
    if (kind == ProcessReport::Seen) continue;
    const std::lock_guard lock(mutex_);
    --expected_;
    --expected_of_[rank];
    changed_.notify_all();
  }
}

void ProcessWorld::finish(int exit_code) {
  const std::lock_guard saying(saying_);
  if (finished_) return;
  finished_ = true;
  for (int process = 1; process < processes(); ++process)
    commands_.send(process, Packet().put(ProcessCommand::Finish).put(exit_code));
}

ProcessWorld::~ProcessWorld() {
  if (!listening_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  listening_.join();
}

}  // namespace shardlens
