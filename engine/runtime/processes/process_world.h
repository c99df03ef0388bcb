// A world of several processes, one rank in each. They meet at the start and are compared. Then the first
// process runs what was asked for and commands the others, which serve until it is done.
//
// The first process sends commands to the others, and they send reports back; each direction keeps its order.
// A command that sets a rank to work (open, start, read) is answered by exactly one report or failure; the
// tensors that were asked for come before it. The ranks' own collectives are independent of these messages.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
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
#include "engine/runtime/processes/process_clocks.h"
#include "engine/runtime/world.h"

namespace shardlens {

/// What the processes of a run must have in common, and how long one waits for another.
struct JoinRequest {
  std::string version;               ///< of the program
  std::vector<std::string> options;  ///< what was asked for, "name=value" each, in a fixed order
  double timeout_seconds = 60;
  const std::atomic<bool>* told_to_end = nullptr;  ///< like ProcessPatience::told_to_end
  /// Set when anybody but the launcher told this process to end. The first process is then asked to end the
  /// run.
  const std::atomic<bool>* asked_to_end = nullptr;
  std::function<void()> end_run = {};  ///< in the first process: ends the run as if it had been told itself
  GpuFacts gpus = {};                  ///< what this process can use, if GPUs were asked for
  /// The number of ranks that share a layer; they are kept on one machine if possible; 1: not known yet.
  int tp = 1;
};

/// Assigns ranks to processes on these machines (`hosts`, by process). Returns the process of each rank:
/// whole groups of `tp` on a machine, machine by machine, then the remaining processes. The group of process
/// 0 is the first, and process 0 is rank 0.
std::vector<int> processes_by_rank(const std::vector<std::string>& hosts, int tp);

class ProcessWorld final : public World {
 public:
  /// Meets the other processes and compares. If they are not of one version or were not asked for the same,
  /// all of them throw the same request Error, with both sides' values. If one does not answer in time, those
  /// that are there throw it.
  ProcessWorld(Processes& processes, const JoinRequest& request);
  ~ProcessWorld() override;

  /// True if this is the process that runs what was asked for; the others serve().
  bool commands() const { return processes_.index() == 0; }
  int processes() const { return processes_.count(); }
  /// Throws a request Error unless there is a process for each of T x D ranks.
  void require_size(int tp, int dp) const;
  /// "4 processes on 2 machines, Open MPI 4.1.4; clocks agree within 14 us"
  CommunicatorInfo info() const;
  /// True if, with this many ranks in a layer, ranks of one layer are on different machines.
  bool crosses_machines(int tp) const;
  int most_ranks_on_a_machine() const;
  int cores() const;  ///< of all ranks together
  /// What `settings` choose for these ranks; the same on all processes. Throws the request Errors of
  /// choose_over_processes().
  Choice choose(const Settings& settings) const;
  /// The room on the GPUs that `settings` choose for the ranks, as each process reported it at the start;
  /// empty on the CPU.
  std::vector<GpuRoom> gpu_rooms(const Settings& settings) const;

  std::unique_ptr<Seats> take_seats(std::shared_ptr<const Plan> plan, const Seats* lender) override;

  /// Runs bench_rank() on all ranks as one group, for each of the sizes, on what `settings` choose for them.
  /// Only in the first process.
  std::vector<AllReducePoint> bench_all_reduce(const AllReduceBench& bench, const Settings& settings);

  /// Runs this process's rank on command, until the first process is done. Returns its exit code.
  int serve();
  /// Call it in the first process when it is done: lets the others end with `exit_code`. It never waits long.
  void finish(int exit_code);
  /// Call it after that: waits until the others have reported that they end. Throws a run Error that names a
  /// process that does not.
  void await_ends();

  /// True if this whole process was stopped and has gone on a moment ago. Then messages that seem to be
  /// missing are late because of this process.
  bool has_just_gone_on() const { return has_just_gone_on_; }
  /// For the first process, when it was told to end: true if every other one has reported that it was told to
  /// end too. Then the run was interrupted, and a rank that waits in vain has lost no other rank.
  bool all_were_told_to_end() const { return told_ == processes() - 1; }

 private:
  friend class CommandingSeats;
  friend class ServingSeats;
  class Server;

  struct Place {
    int process = 0;
    std::string host;
    int cores = 1;              ///< that this rank computes on
    bool has_own_core = false;  ///< and no other process on that machine needs them
    GpuFacts gpus;              ///< that its process can use
    std::string machine;        ///< the id of its boot; empty: not known
    ProcessIdentity identity;
    bool is_seen_from(const Place& other) const { return !machine.empty() && machine == other.machine; }
  };
  std::vector<ProcessFacts> facts_of_ranks() const;
  void compare(const JoinRequest& request);
  void answer(const JoinRequest& request);
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
  std::string rank_text(int rank) const;  ///< its name in the last plan that took seats
  bool is_silent(double silent_seconds, double more_seconds, double told_seconds) const;
  void say_alive();
  /// Throws a run Error if a rank does not take the packet; the message names the rank and `what` it was
  /// told.
  void send(int rank, const std::string& what, Packet packet);
  /// The same, but a rank that cannot receive any more is ignored.
  void send_if_heard(int rank, Packet packet);
  /// Runs this process's rank in `bench`; `number` like an executor's.
  std::vector<AllReducePoint> bench_own_rank(const AllReduceBench& bench, const Settings& settings,
                                             int number, int rank);
  /// Makes an MPI communicator, or an NCCL one if ranks compute on GPUs.
  std::unique_ptr<Communicator> communicator(ProcessGroup group, const Choice& choice);
  RankGroups groups_of(int executor, const Program& program, const Choice& choice, int rank);

  Processes& processes_;
  DepartedProcesses departed_;  ///< those on this process's machine that have ended
  const std::atomic<bool>* const asked_to_end_;
  const std::function<void()> end_run_;
  ProcessPatience patience_;    ///< of the start, then of the last plan that took seats
  double told_seconds_ = 0;     ///< since this process was told to end, counted by the code that looks for
                                ///< lost ranks
  PacketLine commands_, reports_;
  ProcessClocks clocks_;
  std::vector<Place> places_;    ///< [rank], as processes_by_rank() orders them
  std::vector<bool> own_clock_;  ///< [process]: it has another clock than the first one, measured against it
  std::string processors_;       ///< how the ranks' processors differ, for info(); empty: they do not
  double aligned_at_seconds_ = 0;
  int executors_ = 0;
  std::atomic<int> tp_{0};  ///< of the last plan that took seats; 0: none yet
  std::mutex saying_;       ///< held while the others are told that this process is done, or that it goes on
  bool finished_ = false;

  // In the first process: the listeners that hear reports.
  std::mutex hearing_;  ///< held while a listener is told
  std::map<int, SeatsListener*> listeners_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int expected_ = 0;                      ///< reports that have not come
  std::map<int, int> expected_of_;        ///< [rank]: the same
  std::map<int, std::string> asked_of_;   ///< [rank]: the command that it has not yet reported on
  std::map<int, double> silent_seconds_;  ///< [rank]: since the last message from one that owes a report
  std::map<int, double> ended_seconds_;   ///< [rank]: since one that owes a report was seen to have ended
  std::string lost_;                      ///< why reports are no longer waited for; empty: they are
  bool closing_ = false;
  int ended_ = 0;  ///< processes that have reported that they end
  std::atomic<bool> has_just_gone_on_{false};
  std::atomic<int> told_{0};               ///< processes that have reported that they were told to end
  std::map<int, std::vector<char>> read_;  ///< [rank]: the data that was asked for and has come
  std::thread listening_;
};

/// How many times the cores or GPUs of this process the ranks of `plan` use. A ceiling measured in this
/// process (measure_ceiling()) is multiplied by it. 1 if all ranks are here.
double ceilings_of_all_ranks(const Plan& plan);

}  // namespace shardlens
