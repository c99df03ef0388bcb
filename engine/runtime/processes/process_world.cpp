// How the processes of a run meet at the start: each reports its build and its options. The first process
// compares them, assigns the ranks, and measures the clocks. Then the first process's side: the thread that
// receives the reports of the other processes, and what is known about lost ones.
#include "engine/runtime/processes/process_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "engine/base/clock.h"
#include "engine/base/counted.h"
#include "engine/base/threads.h"
#include "engine/device/gpu_plugin.h"
#include "engine/io/file_problem.h"
#include "engine/runtime/backend.h"
#include "engine/runtime/holders.h"
#include "engine/runtime/processes/process_commands.h"
#include "engine/runtime/processes/process_introduction.h"
#include "engine/runtime/run_failure.h"

namespace shardlens {

namespace {

constexpr double kAlignEverySeconds = 10;

// Seconds beyond the time-out, and seconds after all were told to end. The ranks that wait for a lost one in
// a collective should report it first, because they know the step.
constexpr double kSpokenForSeconds = 2, kToldSeconds = 0.6;
// The same if a process is seen to have ended.
constexpr double kEndedSeconds = 0.3;
// For messages that may be lost if the receiver cannot take them.
constexpr double kQuickSeconds = 1;
constexpr auto kSayEvery = std::chrono::milliseconds(250);
// Nothing more is sent to a process that does not go on: packets that it has not taken fill the channel.
constexpr double kDoubtfulSeconds = 3;

}  // namespace

std::vector<int> processes_by_rank(const std::vector<std::string>& hosts, int tp) {
  std::vector<std::string> machines;
  std::map<std::string, std::vector<int>> on;
  for (size_t process = 0; process < hosts.size(); ++process) {
    if (!on.contains(hosts[process])) machines.push_back(hosts[process]);
    on[hosts[process]].push_back(static_cast<int>(process));
  }
  std::vector<int> whole, left;
  for (const std::string& machine : machines) {
    const std::vector<int>& here = on[machine];
    const auto fill = here.begin() + std::ssize(here) / tp * tp;
    whole.insert(whole.end(), here.begin(), fill);
    left.insert(left.end(), fill, here.end());
  }
  // Process 0 is the first of the first machine: if that machine has no whole group, the remaining processes
  // begin with it.
  const bool begins = !left.empty() && left.front() == 0;
  const auto first = left.begin() + (begins ? std::min<std::ptrdiff_t>(tp, std::ssize(left)) : 0);
  std::vector<int> order(left.begin(), first);
  order.insert(order.end(), whole.begin(), whole.end());
  order.insert(order.end(), first, left.end());
  return order;
}

ProcessWorld::ProcessWorld(Processes& processes, const JoinRequest& request)
    : processes_(processes),
      asked_to_end_(request.asked_to_end),
      end_run_(request.end_run),
      patience_{request.told_to_end, request.timeout_seconds, &departed_},
      commands_(processes, kCommandTag, patience_),
      reports_(processes, kReportTag, patience_),
      clocks_(processes, patience_) {
  try {
    commands() ? compare(request) : answer(request);
  } catch (const LateProcess& late) {
    throw request_error(
        fmt::format("process {} of {} is lost: it {} while the processes met; start the run again",
                    late.process(), processes_.count(), late.what()));
  }
  watch_siblings();
  if (commands()) listening_ = start_thread("the messages of the other processes", [this] { listen(); });
}

void ProcessWorld::compare(const JoinRequest& request) {
  PacketLine line(processes_, kHelloTag, patience_);
  std::vector<ProcessIntroduction> all(static_cast<size_t>(processes()));
  all[0] = introduction(processes_, request);
  std::vector<bool> here(all.size(), false);
  here[0] = true;
  std::string problem;
  const double limit = now_seconds() + request.timeout_seconds;
  for (int count = 1; count < processes(); ++count) {
    auto packet = line.poll_for(limit - now_seconds());
    if (!packet) break;
    all[static_cast<size_t>(packet->first)] = take_introduction(packet->second);
    here[static_cast<size_t>(packet->first)] = true;
  }
  for (int process = 1; process < processes() && problem.empty(); ++process) {
    if (here[static_cast<size_t>(process)]) {
      problem = difference(all[0], process, all[static_cast<size_t>(process)]);
    } else {
      problem = fmt::format(
          "process {} of {} did not report within {:.0f} s what it runs; process 0 runs {}: all processes "
          "that mpirun starts must be shardlens-cli with --comm mpi",
          process, processes(), request.timeout_seconds, all[0].version);
    }
  }
  std::vector<std::string> hosts;
  std::map<std::string, std::pair<ProcessCores, int>>
      machines;  // the cores that its ranks may use, and the number of its ranks
  for (const ProcessIntroduction& one : all) {
    hosts.push_back(one.host);
    auto& [together, ranks] = machines[one.host];
    ++ranks;
    for (size_t word = 0; word < together.size(); ++word) together[word] |= one.cores[word];
  }
  processors_ = unlike_processors(all);
  own_clock_.assign(all.size(), false);
  for (const int process : processes_by_rank(hosts, std::max(1, request.tp))) {
    const auto at = static_cast<size_t>(process);
    const ProcessIntroduction& one = all[at];
    const auto& [together, ranks] = machines[one.host];
    const int cores = std::max(1, std::min(count_of(one.cores), count_of(together) / ranks));
    places_.push_back(
        {process, one.host, cores, ranks <= count_of(together), one.gpus, one.machine, one.identity});
    own_clock_[at] = one.host != all[0].host || one.machine != all[0].machine;
  }
  for (int process = 1; process < processes(); ++process) {
    if (!here[static_cast<size_t>(process)]) continue;
    Packet verdict;
    verdict.put(problem).put(static_cast<int>(own_clock_[static_cast<size_t>(process)]));
    verdict.put(static_cast<uint64_t>(places_.size()));
    for (const Place& place : places_) {
      verdict.put(place.process).put(place.host).put(place.cores).put(place.has_own_core);
      put_gpus(verdict, place.gpus);
      verdict.put(place.machine).put(place.identity);
    }
    line.send(process, std::move(verdict));
    if (problem.empty() && own_clock_[static_cast<size_t>(process)]) clocks_.align(process);
  }
  aligned_at_seconds_ = now_seconds();
  if (!problem.empty()) throw request_error(problem);
}

void ProcessWorld::answer(const JoinRequest& request) {
  PacketLine line(processes_, kHelloTag, patience_);
  line.send(0, to_packet(introduction(processes_, request)));
  // The first process waits that long for all others, and then reports the result.
  auto verdict = line.poll_for(request.timeout_seconds + 10);
  if (!verdict) {
    throw request_error(fmt::format(
        "process 0 of {} did not report within {:.0f} s what it runs; process {} runs {}: all processes "
        "that mpirun starts must be shardlens-cli with --comm mpi",
        processes(), request.timeout_seconds, processes_.index(), request.version));
  }
  const std::string problem = verdict->second.take_text();
  const bool own_clock = verdict->second.take<int>() != 0;
  for (auto left = verdict->second.take<uint64_t>(); left > 0; --left) {
    Place place;
    place.process = verdict->second.take<int>();
    place.host = verdict->second.take_text();
    place.cores = verdict->second.take<int>();
    place.has_own_core = verdict->second.take<bool>();
    place.gpus = take_gpus(verdict->second);
    place.machine = verdict->second.take_text();
    place.identity = verdict->second.take<ProcessIdentity>();
    places_.push_back(place);
  }
  if (!problem.empty()) throw request_error(problem);
  if (own_clock) clocks_.answer();
}

void ProcessWorld::watch_siblings() {
  const Place& own = places_[static_cast<size_t>(rank_of(processes_.index()))];
  for (const Place& place : places_)
    if (place.process != own.process && place.is_seen_from(own))
      departed_.watch(place.process, place.identity);
}

// Clocks drift, so in a long run they are measured again between passes.
void ProcessWorld::align_clocks_again() {
  if (now_seconds() - aligned_at_seconds_ < kAlignEverySeconds) return;
  for (int process = 1; process < processes(); ++process) {
    if (!own_clock_[static_cast<size_t>(process)]) continue;
    send(rank_of(process), "to set its clock", Packet().put(ProcessCommand::Align));
    try {
      clocks_.align(process);
    } catch (const LateProcess& late) {
      lose(rank_of(process), lost_text(late));
      throw run_error(lost_text(late));
    }
  }
  aligned_at_seconds_ = now_seconds();
}

void ProcessWorld::require_size(int tp, int dp) const {
  const int64_t ranks = int64_t{tp} * dp;
  if (ranks == processes()) return;
  throw request_error(fmt::format(
      "T = {} and D = {} are {}, and mpirun started {}: start it with -n {}, or give --tp and --dp whose "
      "product is {}",
      tp, dp, counted(ranks, "rank"), counted(processes(), "process", "processes"), ranks, processes()));
}

bool ProcessWorld::crosses_machines(int tp) const {
  for (size_t rank = 1; rank < places_.size(); ++rank)
    if (rank % static_cast<size_t>(tp) != 0 && places_[rank].host != places_[rank - 1].host) return true;
  return false;
}

int ProcessWorld::most_ranks_on_a_machine() const {
  std::map<std::string, int> ranks;
  int most = 0;
  for (const Place& place : places_) most = std::max(most, ++ranks[place.host]);
  return most;
}

std::vector<ProcessFacts> ProcessWorld::facts_of_ranks() const {
  std::vector<ProcessFacts> ranks;
  for (const Place& place : places_) ranks.push_back({place.process, place.host, place.gpus});
  return ranks;
}

Choice ProcessWorld::choose(const Settings& settings) const {
  return choose_over_processes(settings, facts_of_ranks());
}

std::vector<GpuRoom> ProcessWorld::gpu_rooms(const Settings& settings) const {
  return shardlens::gpu_rooms(settings, choose(settings), facts_of_ranks());
}

int ProcessWorld::cores() const {
  int cores = 0;
  for (const Place& place : places_) cores += place.cores;
  return cores;
}

double ceilings_of_all_ranks(const Plan& plan) {
  const auto* const world = dynamic_cast<const ProcessWorld*>(&world_of(plan));
  if (world == nullptr) return 1;
  const size_t gpus = world->gpu_rooms(plan.program.settings).size();
  return gpus > 0 ? static_cast<double>(gpus) : static_cast<double>(world->cores()) / available_cores();
}

CommunicatorInfo ProcessWorld::info() const {
  std::vector<std::string> hosts;
  for (const Place& place : places_)
    if (std::find(hosts.begin(), hosts.end(), place.host) == hosts.end()) hosts.push_back(place.host);
  const bool measured = std::find(own_clock_.begin(), own_clock_.end(), true) != own_clock_.end();
  const std::string clocks =
      measured ? fmt::format("; clocks agree within {:.0f} µs", clocks_.residual_seconds() * 1e6) : "";
  return {"mpi", fmt::format("{} on {}, {}{}{}", counted(processes(), "process", "processes"),
                             counted(static_cast<int64_t>(hosts.size()), "machine"), processes_.carrier(),
                             clocks, processors_)};
}

RankGroups ProcessWorld::groups_of(int executor, const Program& program, const Choice& choice, int rank) {
  const int tp = program.tp();
  const int neighbour = rank % tp, replica = rank / tp;
  const int tag = kGroupTag + executor % kExecutorTags * 3;
  const Place& place = places_[static_cast<size_t>(rank)];
  CommunicatorInfo about = info();
  if (crosses_machines(tp)) about.reason += "; ranks of one layer are on different machines";
  if (!choice.reason.empty())
    about.reason = choice.on_gpus ? choice.reason + "; " + about.reason : about.reason + "; " + choice.reason;
  const double patience = timeout_seconds(program.settings);
  const auto group = [&](int kind, int first, int step, int ranks, int own) -> std::unique_ptr<Communicator> {
    ProcessGroup made;
    for (int r = 0; r < ranks; ++r)
      made.members.push_back(places_[static_cast<size_t>(first + r * step)].process);
    made.rank = own;
    made.tag = tag + kind;
    made.has_own_core = place.has_own_core;
    made.clock_offset_seconds = &clocks_.offset_seconds();
    made.patience_seconds = patience;
    made.told_to_end = patience_.told_to_end;
    made.departed = &departed_;
    made.info = about;
    return communicator(std::move(made), choice);
  };
  const int copies = most_copies(program);
  const int first_holder = neighbour / copies * copies;
  RankGroups groups;
  groups.layer = group(0, replica * tp, 1, tp, neighbour);
  groups.replicas = group(1, neighbour, tp, program.dp(), replica);
  groups.same_slice =
      group(2, replica * tp + first_holder, 1, std::min(copies, tp - first_holder), neighbour - first_holder);
  return groups;
}

std::unique_ptr<Communicator> ProcessWorld::communicator(ProcessGroup group, const Choice& choice) {
  if (!choice.on_gpus) return make_process_communicator(processes_, std::move(group));
  const std::string reason = group.info.reason;
  const double patience = group.patience_seconds;
  // A single rank exchanges nothing: its group need not begin with a meeting.
  if (group.members.size() == 1)
    return std::move(gpu_plugin().make_local_cuda_group(1, reason, patience, false).front());
  let_share(choice);
  return gpu_plugin().make_nccl_rank(make_process_meeting(processes_, std::move(group)), choice.ranks_per_gpu,
                                     reason, patience);
}

std::vector<AllReducePoint> ProcessWorld::bench_all_reduce(const AllReduceBench& bench,
                                                           const Settings& settings) {
  const int number = executors_++;
  for (int rank = 1; rank < processes(); ++rank) {
    Packet packet;
    packet.put(ProcessCommand::Bench).put(number).put(bench.dtype).put(bench.rounds).put(bench.sizes_bytes);
    packet.put(settings.backend).put(settings.gpus);
    send(rank, "to measure an all-reduce", std::move(packet));
  }
  return bench_own_rank(bench, settings, number, 0);
}

std::vector<AllReducePoint> ProcessWorld::bench_own_rank(const AllReduceBench& bench,
                                                         const Settings& settings, int number, int rank) {
  const Choice choice = choose(settings);
  const Place& own = places_[static_cast<size_t>(rank)];
  ProcessGroup group;
  for (const Place& place : places_) group.members.push_back(place.process);
  group.rank = rank;
  group.tag = kGroupTag + number % kExecutorTags * 3;
  group.has_own_core = own.has_own_core;
  group.clock_offset_seconds = &clocks_.offset_seconds();
  group.patience_seconds = patience_.seconds;
  group.told_to_end = patience_.told_to_end;
  group.departed = &departed_;
  group.info = info();
  const std::unique_ptr<Device> device =
      choice.on_gpus ? make_chosen_device(choice, settings, rank, own.cores) : nullptr;
  ProcessGroup at_the_end = group;
  ++at_the_end.tag;
  const std::unique_ptr<Communicator> ranks = communicator(std::move(group), choice);
  if (device) ranks->attach(*device);
  std::vector<AllReducePoint> points;
  for (const int64_t bytes : bench.sizes_bytes) {
    points.push_back(bench_rank(*ranks, device.get(), bench, bytes));
    points.back().core_per_rank = !device && own.has_own_core;
  }
  // A rank that has received everything may still have sent data that is on its way to another machine.
  // Destroying an NCCL communicator drops that data, so no rank does it before all have reached this barrier.
  if (device && processes() > 1) make_process_communicator(processes_, std::move(at_the_end))->barrier();
  return points;
}

int ProcessWorld::rank_of(int process) const {
  const auto found = std::find_if(places_.begin(), places_.end(),
                                  [&](const Place& place) { return place.process == process; });
  return static_cast<int>(found - places_.begin());
}

// If there is one replica, the rank's number alone names the rank.
std::string ProcessWorld::rank_text(int rank) const {
  const int tp = tp_;
  if (tp == 0 || tp == processes()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} of replica {}", rank % tp, rank / tp);
}

std::string ProcessWorld::lost_text(int rank, const std::string& why) const {
  return fmt::format("{} is lost: process {} of {} {} (time-out {:.3g} s)", rank_text(rank),
                     places_[static_cast<size_t>(rank)].process, processes(), why, patience_.seconds.load());
}

std::string ProcessWorld::lost_text(const LateProcess& late) const {
  return lost_text(rank_of(late.process()), late.what());
}

std::string ProcessWorld::ended_text(int rank) const {
  return fmt::format("{} is lost: process {} of {} has ended", rank_text(rank),
                     places_[static_cast<size_t>(rank)].process, processes());
}

bool ProcessWorld::has_ended(int rank) const {
  return departed_.has_ended(places_[static_cast<size_t>(rank)].process);
}

// True if it is longer than the patience plus `more_seconds`, or, after this process was told to end, longer
// than `told_seconds`.
bool ProcessWorld::is_silent(double silent_seconds, double more_seconds, double told_seconds) const {
  return silent_seconds > patience_.seconds + more_seconds ||
         (told_seconds_ > told_seconds && silent_seconds > told_seconds);
}

void ProcessWorld::send(int rank, const std::string& what, Packet packet) {
  try {
    commands_.send(places_[static_cast<size_t>(rank)].process, std::move(packet));
  } catch (const LateProcess& late) {
    lose(rank, lost_text(late) + ": " + what);
    throw run_error(lost_text(late) + ": " + what);
  }
}

void ProcessWorld::send_if_heard(int rank, Packet packet) {
  try {
    commands_.send(places_[static_cast<size_t>(rank)].process, std::move(packet), kQuickSeconds);
  } catch (const std::exception&) {
    // The other ranks were already told the reason.
  }
}

void ProcessWorld::expect(int rank, const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++expected_;
  ++expected_of_[rank];
  asked_of_[rank] = what;
  silent_seconds_[rank] = 0;
  changed_.notify_all();
}

// From now on no report is waited for.
void ProcessWorld::lose(int rank, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) return;
    lost_ = why;
    changed_.notify_all();
  }
  const std::lock_guard lock(hearing_);
  for (const auto& [executor, listener] : listeners_)
    listener->on_failure_elsewhere(rank, ErrorKind::Run, why, std::nullopt);
}

// A process that has stopped sends nothing; a busy one reports that it is busy.
void ProcessWorld::look_for_lost(double looked_seconds) {
  if (patience_.is_told()) told_seconds_ += looked_seconds;
  std::string why;
  int lost = -1;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [rank, owed] : expected_of_) {
      if (owed <= 0) continue;
      double& silent = silent_seconds_[rank];
      silent += looked_seconds;
      double& ended = ended_seconds_[rank];
      ended = has_ended(rank) ? ended + looked_seconds : 0;
      const bool is_lost = is_silent(silent, kSpokenForSeconds, kToldSeconds) || ended > kEndedSeconds;
      if (lost >= 0 || !is_lost) continue;
      lost = rank;
      why = (ended > 0 ? ended_text(rank)
                       : lost_text(rank, fmt::format("has sent nothing for {:.1f} s", silent))) +
            "; it was told " + asked_of_[rank];
    }
  }
  if (lost >= 0) lose(lost, why);
}

// Tells the processes that wait for commands that this one still runs.
void ProcessWorld::say_alive() {
  const std::lock_guard saying(saying_);
  if (finished_) return;
  for (int rank = 1; rank < processes(); ++rank) {
    {
      const std::lock_guard lock(mutex_);
      if (!lost_.empty() || (expected_of_[rank] > 0 && silent_seconds_[rank] > kDoubtfulSeconds)) continue;
    }
    send(rank, "that rank 0 is there", Packet().put(ProcessCommand::Alive));
  }
}

void ProcessWorld::listen() {
  try {
    hear();
  } catch (const LateProcess& late) {
    const int rank = rank_of(late.process());
    std::unique_lock lock(mutex_);
    const std::string told = asked_of_[rank];
    lock.unlock();
    lose(rank, lost_text(late) + (told.empty() ? "" : "; it was told " + told));
  } catch (const std::exception& error) {
    lose(0, fmt::format("rank 0 can no longer receive from the other processes: {}", message_of(error)));
  }
}

// Sleeps while no rank was set to work, and only reports that this process runs; polls for reports while one
// was.
void ProcessWorld::hear() {
  Looks looks;
  auto said = std::chrono::steady_clock::now();
  for (int idle_turns = 0;;) {
    bool asks = false;
    {
      std::unique_lock lock(mutex_);
      asks = changed_.wait_for(lock, kSayEvery, [this] { return closing_ || expected_ > 0; });
      if (closing_) return;
    }
    const double passed = looks.next_seconds();
    has_just_gone_on_ = looks.has_just_gone_on();
    if (const auto now = std::chrono::steady_clock::now(); now - said >= kSayEvery) {
      said = now;
      say_alive();
    }
    if (!asks) continue;
    auto packet = reports_.poll();
    if (packet) {
      idle_turns = 0;
      hear_one(packet->second);
    }
    look_for_lost(passed);
    if (packet) continue;
    const bool soon = ++idle_turns < 100;
    std::this_thread::sleep_for(std::chrono::microseconds(soon ? 20 : 200));
  }
}

void ProcessWorld::hear_one(Packet& report) {
  const auto kind = report.take<ProcessReport>();
  const int executor = report.take<int>();
  const int rank = report.take<int>();
  {
    const std::lock_guard lock(mutex_);
    silent_seconds_[rank] = 0;
    if (kind == ProcessReport::Ends) ++ended_;
  }
  if (kind == ProcessReport::Asked) {
    if (end_run_) end_run_();
    return;
  }
  if (kind == ProcessReport::Told) ++told_;
  if (kind == ProcessReport::Alive || kind == ProcessReport::Told) return;
  if (kind == ProcessReport::Piece) {
    const std::lock_guard lock(mutex_);
    read_[rank] = report.take_list<char>();
  } else if (kind != ProcessReport::Ends) {
    const std::lock_guard lock(hearing_);
    const auto found = listeners_.find(executor);
    if (found == listeners_.end()) {
      // The executor that it was meant for is gone.
    } else if (kind == ProcessReport::Seen) {
      const auto step = report.take<StepId>();
      const auto tensor = report.take<TensorId>();
      const std::vector<char> piece = report.take_list<char>();
      found->second->on_tensor_elsewhere(rank, step, tensor, piece.data());
    } else if (kind == ProcessReport::Failed) {
      const auto error = report.take<ErrorKind>();
      const std::string message = report.take_text();
      std::optional<RunFailure> what;
      if (report.take<bool>()) {
        what.emplace();
        what->lost = report.take<bool>();
        what->step = report.take<StepId>();
        what->ranks = report.take_list<int>();
      }
      found->second->on_failure_elsewhere(rank, error, message, what);
    } else {
      RankReport standing;
      standing.rank = rank;
      standing.start = report.take<uint64_t>();
      standing.high_water_bytes = report.take<BytesByKind>();
      standing.events = report.take_list<StepEvent>();
      found->second->on_report(standing);
    }
  }
  if (kind == ProcessReport::Seen) return;
  const std::lock_guard lock(mutex_);
  --expected_;
  --expected_of_[rank];
  changed_.notify_all();
}

void ProcessWorld::finish(int exit_code) {
  const std::lock_guard saying(saying_);
  if (finished_) return;
  finished_ = true;
  for (int rank = 0; rank < processes(); ++rank) {
    if (places_[static_cast<size_t>(rank)].process == processes_.index()) continue;
    expect(rank, "to end");
    send_if_heard(rank, Packet().put(ProcessCommand::Finish).put(exit_code));
  }
}

void ProcessWorld::await_ends() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ == processes() - 1 || !lost_.empty(); });
  if (!lost_.empty()) throw run_error(lost_);
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
