// A world of several processes, one rank in each. They meet at the start and are compared; then the first one
// runs what was asked for and commands the others, which serve until it is over.
//
// Commands go from the first process to one of the others, reports come back; each side keeps its own order.
// A command that sets a rank to work (open, start, read) is answered by exactly one report, or a failure;
// before it come the tensors that were asked for. The ranks' own collectives travel beside all of this.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/allreduce_bench.h"
#include "engine/comm/packets.h"
#include "engine/comm/process_group.h"
#include "engine/comm/processes.h"
#include "engine/device/gpu_facts.h"
#include "engine/runtime/choose.h"
#include "engine/runtime/gpu_room.h"
#include "engine/runtime/world.h"

namespace shardlens {

/// What the processes of a run must have in common, and how long one waits for another.
struct JoinRequest {
  std::string version;               ///< of the program
  std::vector<std::string> options;  ///< what was asked for, "name=value" each, in one order
  double timeout_seconds = 60;
  const std::atomic<bool>* told_to_end = nullptr;  ///< as ProcessPatience's
  GpuFacts gpus = {};                              ///< what this process can use, where GPUs were asked for
  /// Ranks that share a layer, which are kept on one machine where that can be; 1: not known yet.
  int tp = 1;
};

/// Who is which rank, of processes on these machines (`hosts`, by process): whole groups of `tp` on a
/// machine, machine by machine, then what is left of the machines; the group of process 0 first, and it is
/// rank 0.
std::vector<int> processes_by_rank(const std::vector<std::string>& hosts, int tp);

class ProcessWorld final : public World {
 public:
  /// Meets the other processes and compares. Throws the same request Error in all of them, with both sides'
  /// values, when they are not of one version or were not asked for the same, and in those that are there
  /// when one does not answer in time.
  ProcessWorld(Processes& processes, const JoinRequest& request);
  ~ProcessWorld() override;

  /// Whether this is the process that runs what was asked for; the others serve().
  bool commands() const { return processes_.index() == 0; }
  int processes() const { return processes_.count(); }
  /// Throws a request Error unless there is a process for each of T x D ranks.
  void require_size(int tp, int dp) const;
  /// "4 processes on 2 machines, Open MPI 4.1.4; clocks agree within 14 us"
  CommunicatorInfo info() const;
  /// Of this many ranks a layer, do some meet across machines?
  bool crosses_machines(int tp) const;
  int most_ranks_on_a_machine() const;
  int cores() const;  ///< of all ranks together
  /// What `settings` choose for these ranks: the same on all processes. Throws choose_over_processes()'s
  /// request Errors.
  Choice choose(const Settings& settings) const;
  /// Of the GPUs that `settings` choose for them; empty on the CPU. As each process found them when it came.
  std::vector<GpuRoom> gpu_rooms(const Settings& settings) const;

  std::unique_ptr<Seats> take_seats(std::shared_ptr<const Plan> plan, const Seats* lender) override;

  /// bench_rank() on all ranks as one group, for each of the sizes, on what `settings` choose for them. From
  /// the first process.
  std::vector<AllReducePoint> bench_all_reduce(const AllReduceBench& bench, const Settings& settings);

  /// Runs this process's rank as it is commanded, until the first process is done. Returns its exit code.
  int serve();
  /// From the first process, when it is done: lets the others end with `exit_code`. Never waits long.
  void finish(int exit_code);
  /// Then: waits until they have said that they end. A run Error names one that does not.
  void await_ends();

  /// Whether this process was stopped as a whole and has gone on a moment ago: what it misses then, missed
  /// it.
  bool has_just_gone_on() const { return has_just_gone_on_; }
  /// Of the first process: whether every other one has said that it was told to end, as this one was: then
  /// the run was interrupted, and who waits for another in vain has lost nobody.
  bool all_were_told_to_end() const { return told_ == processes() - 1; }

 private:
  friend class CommandingSeats;
  friend class ServingSeats;
  class Server;

  struct Place {
    int process = 0;
    std::string host;
    int cores = 1;              ///< for this rank to compute on
    bool has_own_core = false;  ///< and nobody else on that machine needs them
    GpuFacts gpus;              ///< that its process can use
    std::string machine;        ///< as it was booted; empty: not known
    ProcessIdentity identity;
    bool is_seen_from(const Place& other) const { return !machine.empty() && machine == other.machine; }
  };
  std::vector<ProcessFacts> facts_of_ranks() const;
  void compare(const JoinRequest& request);
  void answer(const JoinRequest& request);
  void align_clock(int process);
  void answer_pings();
  Packet next_ping(int process);
  void align_clocks_again();

  void listen();
  void hear();
  void hear_one(Packet& report);
  void expect(int rank, const std::string& what);  ///< a report will come
  void look_for_lost(double looked_seconds);
  void lose(int rank, const std::string& why);
  std::string lost_text(int rank, const std::string& why) const;
  std::string lost_text(const LateProcess& late) const;
  std::string ended_text(int rank) const;
  bool has_ended(int rank) const;  ///< its process
  void watch_siblings();
  int rank_of(int process) const;
  std::string rank_text(int rank) const;  ///< as the run that was seated last names it
  bool is_silent(double silent_seconds, double more_seconds, double told_seconds) const;
  void say_alive();
  /// A run Error names a rank that does not take it, and `what` it was told.
  void send(int rank, const std::string& what, Packet packet);
  /// The same for what is only said to whom can still hear it.
  void send_if_heard(int rank, Packet packet);
  /// This process's rank in `bench`; `number` as an executor's.
  std::vector<AllReducePoint> bench_own_rank(const AllReduceBench& bench, const Settings& settings,
                                             int number, int rank);
  /// By MPI, or by NCCL where ranks compute on GPUs.
  std::unique_ptr<Communicator> communicator(ProcessGroup group, const Choice& choice);
  RankGroups groups_of(int executor, const Program& program, const Choice& choice, int rank);

  Processes& processes_;
  DepartedProcesses departed_;  ///< of those on this process's machine
  ProcessPatience patience_;    ///< of the start, then of the plan that was seated last
  double told_seconds_ = 0;     ///< since this process was told to end, counted by who looks for others
  PacketLine commands_, reports_, pings_;
  std::vector<Place> places_;    ///< [rank], as processes_by_rank() orders them
  std::vector<bool> own_clock_;  ///< [process]: its clock is not the first one's, but measured against it
  std::atomic<double> clock_offset_seconds_{0};  ///< put this process's clock forward by it
  /// What the clocks may have differed by, at most, so far: half of the quickest ping, and what one of them
  /// had drifted when it was set again. The first process knows.
  std::atomic<double> clock_residual_seconds_{0};
  std::map<int, double> offset_of_;  ///< [process], seconds: how it was set last; the first process knows
  std::string processors_;           ///< how those of the ranks differ, as info() says it; empty: not
  double aligned_at_seconds_ = 0;
  int executors_ = 0;
  std::atomic<int> tp_{0};  ///< of the plan that was seated last; 0: none yet
  std::mutex saying_;  ///< held while the others are told that they are done, or that this process goes on
  bool finished_ = false;

  // Of the first process: who hears what is reported.
  std::mutex hearing_;  ///< held while a listener is told
  std::map<int, SeatsListener*> listeners_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int expected_ = 0;                      ///< reports that have not come
  std::map<int, int> expected_of_;        ///< [rank]: the same
  std::map<int, std::string> asked_of_;   ///< [rank]: what it owes a report of
  std::map<int, double> silent_seconds_;  ///< [rank]: since anything came from one that owes a report
  std::map<int, double> ended_seconds_;   ///< [rank]: since one that owes a report was seen to have ended
  std::string lost_;                      ///< why nothing more is waited for; empty: it is
  bool closing_ = false;
  int ended_ = 0;  ///< processes that have said that they end
  std::atomic<bool> has_just_gone_on_{false};
  std::atomic<int> told_{0};               ///< processes that have said that they were told to end
  std::map<int, std::vector<char>> read_;  ///< [rank]: what was asked for and has come
  std::thread listening_;
};

/// The cores or GPUs that the ranks of `plan` compute on, in multiples of those that a ceiling is measured on
/// in this process (measure_ceiling()): what it is multiplied by. 1 where all ranks are here.
double ceilings_of_all_ranks(const Plan& plan);

}  // namespace shardlens
