// The other processes' side: executors that run one rank on command, and their reports.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "engine/base/clock.h"
#include "engine/io/json.h"
#include "engine/program/program_json.h"
#include "engine/runtime/backend.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/processes/process_commands.h"
#include "engine/runtime/processes/process_world.h"

namespace shardlens {
namespace {

// Seconds beyond the time-out, and seconds after all were told to end. The ranks that wait for a lost one in
// a collective should report it first, because they know the step; then the first process, if it still runs.
constexpr double kServerSpokenForSeconds = 4, kServerToldSeconds = 0.7;
constexpr double kSaidEverySeconds = 0.25;
// The first process answers a failure at once if it still runs; a silent process does not. After all were
// told to end there is less time.
constexpr double kAnswerSeconds = 5, kSilentSeconds = 1.5, kToldAnswerSeconds = 0.45;
// If the first process is seen to have ended, its last messages may still be on their way, and so may the
// report of the step in which it is missed.
constexpr double kServerEndedSeconds = 0.3;

}  // namespace

// The one rank of an executor that lives here.
class ServingSeats final : public Seats {
 public:
  ServingSeats(ProcessWorld& world, int id, std::shared_ptr<const Plan> plan, int rank)
      : world_(world),
        id_(id),
        plan_(std::move(plan)),
        choice_(world.choose(plan_->program.settings)),
        rank_(rank) {}
  bool is_here(int rank) const override { return rank == rank_; }
  bool commands() const override { return false; }
  bool has_ended(int rank) const override { return world_.has_ended(rank); }
  int cores_per_rank() const override { return world_.places_[static_cast<size_t>(rank_)].cores; }
  std::vector<RankGroups> make_groups() override {
    std::vector<RankGroups> groups(world_.places_.size());
    groups[static_cast<size_t>(rank_)] = world_.groups_of(id_, plan_->program, choice_, rank_);
    return groups;
  }
  std::unique_ptr<Device> make_device(int rank, int threads) override {
    return make_chosen_device(choice_, plan_->program.settings, rank, threads);
  }

 private:
  ProcessWorld& world_;
  const int id_;
  const std::shared_ptr<const Plan> plan_;
  const Choice choice_;
  const int rank_;
};

class ProcessWorld::Server {
 public:
  Server(ProcessWorld& world, int rank) : world_(world), rank_(rank) {}

  int run() {
    try {
      return serve();
    } catch (const LateProcess& late) {
      throw run_error(world_.lost_text(late) + because());
    }
  }

 private:
  struct Serving;

  int serve() {
    double last_command = now_seconds();
    for (;;) {
      say_if_told();
      say_if_asked();
      auto packet = world_.commands_.poll();
      look_for_the_first();
      if (packet) {
        silent_seconds_ = ended_seconds_ = 0;
        const auto command = packet->second.take<ProcessCommand>();
        if (command == ProcessCommand::Alive) continue;
        last_command = now_seconds();
        failed_at_seconds_ = 0;
        if (command == ProcessCommand::Finish) {
          world_.reports_.send(0, report(ProcessReport::Ends, -1));
          return packet->second.take<int>();
        }
        if (command == ProcessCommand::Align)
          world_.clocks_.answer();
        else
          obey(command, packet->second.take<int>(), packet->second);
        looks_.skip();
      } else if (!report_who_stands() && !wait_for_a_rank()) {
        look_for_an_answer();
        const bool soon = now_seconds() - last_command < 0.05;
        std::this_thread::sleep_for(std::chrono::microseconds(soon ? 20 : 500));
      }
    }
  }

  // Sends the tensors that are wanted on to the first process.
  class Shower : public StepObserver {
   public:
    Shower(Server& server, int id, const Program& program) : server_(server), id_(id), program_(program) {}
    bool wants(const Tensor& tensor) const override {
      return !wanted.empty() && wanted[static_cast<size_t>(tensor.id)] != 0;
    }
    void on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) override {
      on_replica_tensor(0, rank, step, tensor, data);
    }
    void on_replica_tensor(int, int rank, StepId step, const Tensor& tensor, const void* data) override {
      if (!wants(tensor)) return;
      const auto bytes = static_cast<uint64_t>(local_bytes(tensor, program_.tp(), rank));
      Packet packet = server_.report(ProcessReport::Seen, id_);
      packet.put(step).put(tensor.id).put(bytes).put_bytes(data, static_cast<size_t>(bytes));
      server_.world_.reports_.send(0, std::move(packet));
    }
    std::vector<char> wanted;  ///< by TensorId; changed only while the rank stands still

   private:
    Server& server_;
    const int id_;
    const Program& program_;
  };

  struct Serving {
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<Shower> shower;
    std::unique_ptr<Executor> executor;
    bool owes_report = false;
    uint64_t start = 0;
  };

  Packet report(ProcessReport kind, int id) const {
    Packet packet;
    packet.put(kind).put(id).put(rank_);
    return packet;
  }

  void report_failure(int id, const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    Packet packet = report(ProcessReport::Failed, id);
    packet.put(known == nullptr ? ErrorKind::Run : known->kind()).put(std::string(error.what()));
    const auto* failed = dynamic_cast<const RunFailed*>(&error);
    packet.put(failed != nullptr);
    if (failed != nullptr)
      packet.put(failed->failure().lost).put(failed->failure().step).put(failed->failure().ranks);
    failed_at_seconds_ = now_seconds();
    failure_ = error.what();
    world_.reports_.send(0, std::move(packet));
  }

  // The earlier failure that explains why this process gives up; appended to its message.
  std::string because() const { return failure_.empty() ? "" : "; before that: " + failure_; }

  void obey(ProcessCommand command, int id, Packet& packet) {
    if (command == ProcessCommand::Open) return open(id, packet);
    if (command == ProcessCommand::Bench) return bench(id, packet);
    const auto found = serving_.find(id);
    if (found == serving_.end()) {  // it could not be opened; that was reported
      if (command == ProcessCommand::Start) report_failure(id, run_error("its Program could not be opened"));
      if (command == ProcessCommand::Read)
        world_.reports_.send(0, report(ProcessReport::Piece, id).put(std::vector<char>()));
      return;
    }
    Serving& serving = found->second;
    Executor& executor = *serving.executor;
    switch (command) {
      case ProcessCommand::Start: {
        serving.start = packet.take<uint64_t>();
        const auto target = static_cast<size_t>(packet.take<uint64_t>());
        const double begin = packet.take<double>() - world_.clocks_.offset_seconds();
        serving.shower->wanted = packet.take_list<char>();
        executor.observe(serving.shower->wanted.empty()
                             ? std::vector<std::shared_ptr<StepObserver>>{}
                             : std::vector<std::shared_ptr<StepObserver>>{serving.shower});
        serving.owes_report = true;
        return executor.start(target, begin);
      }
      case ProcessCommand::Rewind:
        return executor.rewind();
      case ProcessCommand::NextPass:
        return executor.next_pass();
      case ProcessCommand::Inputs:
        return executor.set_inputs(take_inputs(packet));
      case ProcessCommand::Read: {
        const auto tensor = packet.take<TensorId>();
        std::vector<char> piece(static_cast<size_t>(packet.take<uint64_t>()));
        executor.read_tensor(rank_, tensor, piece.data());
        Packet answer = report(ProcessReport::Piece, id);
        answer.put(piece);
        return world_.reports_.send(0, std::move(answer));
      }
      case ProcessCommand::Write: {
        const auto tensor = packet.take<TensorId>();
        const auto bytes = static_cast<size_t>(packet.take<uint64_t>());
        return executor.write_tensor(rank_, tensor, packet.take_bytes(bytes));
      }
      case ProcessCommand::Cancel:
        return executor.cancel(packet.take_text());
      case ProcessCommand::Close:
        if (serving.owes_report) report_failure(id, Error(ErrorKind::Cancelled, "the run was given up"));
        serving_.erase(found);
        return;
      case ProcessCommand::Open:
      case ProcessCommand::Align:
      case ProcessCommand::Bench:
      case ProcessCommand::Alive:
      case ProcessCommand::Finish:
        return;
    }
  }

  void open(int id, Packet& packet) {
    try {
      const int lender_id = packet.take<int>();
      auto plan = std::make_shared<Plan>(
          *make_plan(program_from_json(nlohmann::json::parse(packet.take_text()), "process 0's Program")));
      plan->delays = packet.take_list<PlannedDelay>();
      world_.patience_.seconds = timeout_seconds(plan->program.settings);
      world_.tp_ = plan->program.tp();
      const auto lender = serving_.find(lender_id);
      Serving serving;
      serving.plan = plan;
      serving.shower = std::make_shared<Shower>(*this, id, plan->program);
      serving.executor =
          std::make_unique<Executor>(plan, std::make_unique<ServingSeats>(world_, id, plan, rank_),
                                     lender == serving_.end() ? nullptr : lender->second.executor.get());
      serving.owes_report = true;
      serving_.emplace(id, std::move(serving));
    } catch (const std::exception& error) {
      report_failure(id, error);
    }
  }

  // Runs all its rounds; no command is taken meanwhile.
  void bench(int number, Packet& packet) {
    AllReduceBench bench;
    bench.dtype = packet.take<DType>();
    bench.rounds = packet.take<int>();
    bench.sizes_bytes = packet.take_list<int64_t>();
    Settings settings;
    settings.backend = packet.take<BackendChoice>();
    settings.gpus = packet.take_list<int>();
    world_.bench_own_rank(bench, settings, number, rank_);
  }

  static PassInputs take_inputs(Packet& packet) {
    PassInputs inputs;
    inputs.numbers = packet.take<PassNumbers>();
    inputs.loss_scale = packet.take<double>();
    if (!packet.take<bool>()) return inputs;
    auto batch = std::make_shared<Batch>();
    batch->tokens = packet.take_list<int32_t>();
    batch->labels = packet.take_list<int32_t>();
    batch->positions = packet.take_list<int32_t>();
    batch->token_types = packet.take_list<int32_t>();
    batch->attention_mask = packet.take_list<int32_t>();
    batch->sentence_labels = packet.take_list<int32_t>();
    inputs.batch = std::move(batch);
    return inputs;
  }

  // True when there was something to report.
  bool report_who_stands() {
    for (auto& [id, serving] : serving_) {
      if (!serving.owes_report) continue;
      try {
        if (!serving.executor->wait_for(0)) continue;
        const RankTrace& trace = serving.executor->trace(rank_);
        const auto done = static_cast<std::ptrdiff_t>(trace.finished());
        Packet packet = report(ProcessReport::Standing, id);
        packet.put(serving.start).put(serving.executor->high_water_bytes(rank_));
        packet.put(std::vector<StepEvent>(trace.events().begin(), trace.events().begin() + done));
        world_.reports_.send(0, std::move(packet));
      } catch (const std::exception& error) {
        report_failure(id, error);
      }
      serving.owes_report = false;
      return true;
    }
    return false;
  }

  // Checks that the first process still runs; it reports this also when it has no command.
  void look_for_the_first() {
    const double passed = looks_.next_seconds();
    silent_seconds_ += passed;
    if (world_.patience_.is_told()) world_.told_seconds_ += passed;
    if (world_.patience_.is_told() && looks_.has_just_gone_on())
      throw run_error(
          fmt::format("the process of {} was stopped, and the other processes ended meanwhile", own_text()));
    ended_seconds_ = world_.has_ended(0) ? ended_seconds_ + passed : 0;
    if (ended_seconds_ > kServerEndedSeconds)
      throw run_error(fmt::format("{}; {} {}{}", world_.ended_text(0), own_text(), standing(), because()));
    if (!world_.is_silent(silent_seconds_, kServerSpokenForSeconds, kServerToldSeconds)) return;
    throw run_error(world_.lost_text(0, fmt::format("has sent nothing for {:.1f} s", silent_seconds_)) +
                    fmt::format("; {} {}{}", own_text(), standing(), because()));
  }

  std::string own_text() const { return world_.rank_text(rank_); }

  // Lets the first process tell a run that was interrupted from a run that has lost a rank.
  void say_if_told() {
    if (said_told_ || !world_.patience_.is_told()) return;
    said_told_ = true;
    world_.reports_.send(0, report(ProcessReport::Told, -1));
  }

  // Nobody means a single process of a run: the first one ends the run, and saves what it would save.
  void say_if_asked() {
    if (said_asked_ || world_.asked_to_end_ == nullptr || !*world_.asked_to_end_) return;
    said_asked_ = true;
    world_.reports_.send(0, report(ProcessReport::Asked, -1));
  }

  // Where the rank here is, as text.
  std::string standing() const {
    for (const auto& [id, serving] : serving_) {
      if (!serving.owes_report) continue;
      const auto step = static_cast<StepId>(serving.executor->trace(rank_).finished());
      return step < static_cast<StepId>(serving.executor->steps())
                 ? "is in " + step_text(serving.plan->program, step)
                 : "has done the last step";
    }
    return "is between two passes";
  }

  // Gives up if the first process does not answer a failure that was reported.
  void look_for_an_answer() const {
    if (failed_at_seconds_ <= 0) return;
    const double waited = now_seconds() - failed_at_seconds_;
    const double most = world_.patience_.is_told()         ? kToldAnswerSeconds
                        : silent_seconds_ > kSilentSeconds ? kSilentSeconds
                                                           : world_.patience_.seconds + kAnswerSeconds;
    if (waited > most)
      throw run_error(fmt::format("{} is lost, or its process is: it did not answer this report: {}",
                                  world_.rank_text(0), failure_));
  }

  // Waits a short while for a rank that computes; returns false if none does.
  bool wait_for_a_rank() {
    for (auto& [id, serving] : serving_) {
      if (!serving.owes_report) continue;
      if (now_seconds() - said_seconds_ > kSaidEverySeconds) {
        said_seconds_ = now_seconds();
        world_.reports_.send(0, report(ProcessReport::Alive, id));
      }
      try {
        serving.executor->wait_for(0.0005);
      } catch (const Error&) {
        // The next turn reports it.
      }
      return true;
    }
    return false;
  }

  ProcessWorld& world_;
  const int rank_;
  double silent_seconds_ = 0;  ///< since the last message from the first process
  double ended_seconds_ = 0;   ///< since it was seen to have ended and no message has come
  Looks looks_;
  bool said_told_ = false, said_asked_ = false;
  double said_seconds_ = 0;       ///< when it last reported that it goes on
  double failed_at_seconds_ = 0;  ///< when a failure was reported that has no answer yet; 0: none
  std::string failure_;
  std::map<int, Serving> serving_;  ///< by the number that the first process gave it; lenders come first
};

int ProcessWorld::serve() {
  const auto own = std::find_if(places_.begin(), places_.end(),
                                [this](const Place& place) { return place.process == processes_.index(); });
  return Server(*this, static_cast<int>(own - places_.begin())).run();
}

}  // namespace shardlens
