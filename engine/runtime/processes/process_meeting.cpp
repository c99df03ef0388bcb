// How the processes of a run meet at the start: each reports its build and its options. The first process
// compares them, assigns the ranks, and measures the clocks.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include "engine/config/clock.h"
#include "engine/config/counted.h"
#include "engine/device/cpu/gemm.h"
#include "engine/runtime/processes/process_commands.h"
#include "engine/runtime/processes/process_world.h"

namespace shardlens {
namespace {

constexpr int kPings = 30;
constexpr double kAlignEverySeconds = 10;
using Cores = std::array<uint64_t, 16>;  // bit by bit: the cores that a process may use

Cores own_cores() {
  Cores cores{};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {1};
  for (size_t core = 0; core < 64 * cores.size(); ++core)
    if (CPU_ISSET(core, &set)) cores[core / 64] |= uint64_t{1} << core % 64;
  return cores;
}

int count_of(const Cores& cores) {
  int count = 0;
  for (const uint64_t word : cores) count += __builtin_popcountll(word);
  return count;
}

// An id that is equal for all processes that the same clock times.
std::string booted_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

struct Introduction {
  std::string version, host, machine, kernels;
  Cores cores{};
  std::vector<std::string> options;
  GpuFacts gpus;
  ProcessIdentity identity;
};

// Writes the facts about GPUs that a choice needs, and that show how much room the GPUs have.
void put_gpus(Packet& packet, const GpuFacts& facts) {
  packet.put(static_cast<uint64_t>(facts.gpus.size()));
  for (const Gpu& gpu : facts.gpus)
    packet.put(gpu.number)
        .put(gpu.bus)
        .put(gpu.multiprocessors)
        .put(gpu.memory_bytes)
        .put(gpu.used_bytes)
        .put(gpu.context_bytes);
  packet.put(facts.why_no_gpu).put(facts.nccl_version).put(facts.why_no_nccl);
}

GpuFacts take_gpus(Packet& packet) {
  GpuFacts facts;
  facts.gpus.resize(static_cast<size_t>(packet.take<uint64_t>()));
  for (Gpu& gpu : facts.gpus) {
    gpu.number = packet.take<int>();
    gpu.bus = packet.take_text();
    gpu.multiprocessors = packet.take<int>();
    gpu.memory_bytes = packet.take<int64_t>();
    gpu.used_bytes = packet.take<int64_t>();
    gpu.context_bytes = packet.take<int64_t>();
  }
  facts.why_no_gpu = packet.take_text();
  facts.nccl_version = packet.take<int>();
  facts.why_no_nccl = packet.take_text();
  return facts;
}

Introduction introduction(const Processes& processes, const JoinRequest& request) {
  return {request.version, processes.host(), booted_machine(), cpu::product_kernels(),
          own_cores(),     request.options,  request.gpus,     own_identity()};
}

Packet to_packet(const Introduction& self) {
  Packet packet;
  packet.put(self.version).put(self.host).put(self.machine).put(self.kernels).put(self.cores);
  packet.put(static_cast<uint64_t>(self.options.size()));
  for (const std::string& option : self.options) packet.put(option);
  put_gpus(packet, self.gpus);
  packet.put(self.identity);
  return packet;
}

Introduction take_introduction(Packet& packet) {
  Introduction other;
  other.version = packet.take_text();
  other.host = packet.take_text();
  other.machine = packet.take_text();
  other.kernels = packet.take_text();
  other.cores = packet.take<Cores>();
  for (auto left = packet.take<uint64_t>(); left > 0; --left) other.options.push_back(packet.take_text());
  other.gpus = take_gpus(packet);
  other.identity = packet.take<ProcessIdentity>();
  return other;
}

// Returns what differs between two processes but must be equal; empty if nothing does.
std::string difference(const Introduction& first, int process, const Introduction& other) {
  if (first.version != other.version) {
    return fmt::format("process 0 on {} is {}, process {} on {} is {}: put the same build on all machines",
                       first.host, first.version, process, other.host, other.version);
  }
  for (size_t i = 0; i < std::max(first.options.size(), other.options.size()); ++i) {
    const std::string ours = i < first.options.size() ? first.options[i] : "nothing";
    const std::string theirs = i < other.options.size() ? other.options[i] : "nothing";
    if (ours == theirs) continue;
    return fmt::format(
        "process 0 was started with {}, process {} with {}: all processes of a run take the same options",
        ours, process, theirs);
  }
  return {};
}

// Processors that multiply with other instructions may round differently. Then a Replicated tensor may differ
// between ranks in the last bits.
std::string unlike_processors(const std::vector<Introduction>& all) {
  for (const Introduction& one : all)
    if (one.kernels != all[0].kernels)
      return fmt::format("; matrix products use {} on {} and {} on {}, so ranks may differ in the last bits",
                         all[0].kernels, all[0].host, one.kernels, one.host);
  return {};
}

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
      patience_{request.told_to_end, request.timeout_seconds, &departed_},
      commands_(processes, kCommandTag, patience_),
      reports_(processes, kReportTag, patience_),
      pings_(processes, kPingTag, patience_) {
  try {
    commands() ? compare(request) : answer(request);
  } catch (const LateProcess& late) {
    throw request_error(
        fmt::format("process {} of {} is lost: it {} while the processes met; start the run again",
                    late.process(), processes_.count(), late.what()));
  }
  watch_siblings();
  if (commands()) listening_ = std::thread([this] { listen(); });
}

void ProcessWorld::compare(const JoinRequest& request) {
  PacketLine line(processes_, kHelloTag, patience_);
  std::vector<Introduction> all(static_cast<size_t>(processes()));
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
  std::map<std::string, std::pair<Cores, int>>
      machines;  // the cores that its ranks may use, and the number of its ranks
  for (const Introduction& one : all) {
    hosts.push_back(one.host);
    auto& [together, ranks] = machines[one.host];
    ++ranks;
    for (size_t word = 0; word < together.size(); ++word) together[word] |= one.cores[word];
  }
  processors_ = unlike_processors(all);
  own_clock_.assign(all.size(), false);
  for (const int process : processes_by_rank(hosts, std::max(1, request.tp))) {
    const auto at = static_cast<size_t>(process);
    const Introduction& one = all[at];
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
    if (problem.empty() && own_clock_[static_cast<size_t>(process)]) align_clock(process);
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
  if (own_clock) answer_pings();
}

void ProcessWorld::watch_siblings() {
  const Place& own = places_[static_cast<size_t>(rank_of(processes_.index()))];
  for (const Place& place : places_)
    if (place.process != own.process && place.is_seen_from(own))
      departed_.watch(place.process, place.identity);
}

// Asks for the other process's time many times. The quickest answer was on its way for the shortest time, so
// it gives the best estimate: the time in the middle between asking and hearing, exact to half of that
// interval.
void ProcessWorld::align_clock(int process) {
  double shortest = 1e9, offset = 0;
  for (int ping = 0; ping < kPings; ++ping) {
    const double asked = now_seconds();
    pings_.send(process, Packet().put(0.0).put(ping + 1 < kPings));
    Packet answer = next_ping(process);
    const double heard = now_seconds();
    if (heard - asked >= shortest) continue;
    shortest = heard - asked;
    offset = (asked + heard) / 2 - answer.take<double>();
  }
  pings_.send(process, Packet().put(offset).put(false));
  const auto before = offset_of_.find(process);
  const double drifted = before == offset_of_.end() ? 0 : std::abs(offset - before->second);
  offset_of_[process] = offset;
  clock_residual_seconds_ = std::max(clock_residual_seconds_.load(), shortest / 2 + drifted);
}

void ProcessWorld::answer_pings() {
  for (bool more = true; more;) {
    Packet ping = next_ping(0);
    ping.take<double>();
    more = ping.take<bool>();
    pings_.send(0, Packet().put(now_seconds()));
  }
  clock_offset_seconds_ = next_ping(0).take<double>();
}

// Returns the next ping from that process. It polls without a pause, because the round trip is what is
// measured.
Packet ProcessWorld::next_ping(int process) {
  constexpr double kToldSeconds = 0.5;
  PatientWait wait(patience_.told_to_end, kToldSeconds);
  for (;;) {
    if (auto ping = pings_.poll()) return std::move(ping->second);
    if (wait.is_enough(patience_.seconds))
      throw LateProcess(process, fmt::format("has not answered for {:.1f} s", wait.waited_seconds()));
  }
}

// Clocks drift, so in a long run they are measured again between passes.
void ProcessWorld::align_clocks_again() {
  if (now_seconds() - aligned_at_seconds_ < kAlignEverySeconds) return;
  for (int process = 1; process < processes(); ++process) {
    if (!own_clock_[static_cast<size_t>(process)]) continue;
    send(rank_of(process), "to set its clock", Packet().put(ProcessCommand::Align));
    try {
      align_clock(process);
    } catch (const LateProcess& late) {
      lose(rank_of(process), lost_text(late));
      throw run_error(lost_text(late));
    }
  }
  aligned_at_seconds_ = now_seconds();
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
      measured ? fmt::format("; clocks agree within {:.0f} µs", clock_residual_seconds_.load() * 1e6) : "";
  return {"mpi", fmt::format("{} on {}, {}{}{}", counted(processes(), "process", "processes"),
                             counted(static_cast<int64_t>(hosts.size()), "machine"), processes_.carrier(),
                             clocks, processors_)};
}

}  // namespace shardlens
