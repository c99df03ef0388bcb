// Joins the other processes that mpirun started, and ends with them.
#include "app/cli/world.h"

#include <fmt/format.h>

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "app/command_line/request.h"
#include "app/command_line/signals.h"
#include "engine/base/error.h"
#include "engine/comm/processes.h"
#include "engine/comm/siblings.h"
#include "engine/config/settings.h"
#include "engine/device/gpu_plugin.h"
#include "engine/runtime/build.h"
#include "engine/runtime/processes/process_world.h"

namespace shardlens::cli {
namespace {

ProcessWorld* joined_world = nullptr;
std::atomic<bool> told_to_end{false};   // by mpirun
std::atomic<bool> asked_to_end{false};  // by anybody else

// Ends the program after flushing its output, without destructors. Code that waits for a lost process, above
// all MPI's own end, might wait for ever, and must not be destroyed while it waits.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

// A SIGTERM that mpirun did not send ends the program as usual.
void end_unless_by_mpirun(int signal, siginfo_t* sender, void*) {
  heed_mpirun(*sender);
  if (!told_to_end) end_by_signal(signal);
}

// In a process that is not the first, a SIGTERM that mpirun did not send is passed on to the first one, which
// ends the run as if it had got it: training saves. The second one ends this process at once.
void pass_on_unless_by_mpirun(int signal, siginfo_t* sender, void*) {
  heed_mpirun(*sender);
  if (!told_to_end && asked_to_end.exchange(true)) end_by_signal(signal);
}

void on_sigterm(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTERM, &action, nullptr);
}

// Returns the verb (or its subcommand) that can run over processes, or null.
const CLI::App* with_comm(const CLI::App& app) {
  if (app.get_option_no_throw("--comm-timeout") != nullptr) return &app;
  for (const CLI::App* part : app.get_subcommands())
    if (const CLI::App* found = with_comm(*part)) return found;
  return nullptr;
}

// Reads which devices the ranks compute on.
Settings devices_of(const CLI::App& parsed) {
  const CLI::App& verb = *with_comm(parsed);
  Settings settings;
  settings.backend = parse_backend(verb["--backend"]->as<std::string>());
  settings.gpus = parse_gpus(verb["--gpu"]->as<std::string>());
  settings.tf32 = verb["--tf32"]->count() > 0;
  return settings;
}

// Returns a number that mpirun gave this process, from Open MPI or through PMI from another MPI; else
// `usual`.
int given_by_mpirun(const char* open_mpi, const char* pmi, int usual) {
  for (const char* name : {open_mpi, pmi})
    if (const char* const value = std::getenv(name)) return std::atoi(value);
  return usual;
}

// Warns if mpirun started several processes but --comm mpi is missing: then every process does all the work.
void say_if_one_of_several() {
  const int processes = given_by_mpirun("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", 1);
  if (processes > 1 && given_by_mpirun("OMPI_COMM_WORLD_RANK", "PMI_RANK", 0) == 0)
    say(
        fmt::format("mpirun has started {} processes, and each of them runs all ranks by itself; add --comm "
                    "mpi to share the ranks among them",
                    processes));
}

// Returns the option --tp or --dp, or null with --resume, because then the checkpoint decides.
const CLI::Option* given_size(const CLI::App& parsed, const std::string& name) {
  const CLI::Option* resume = parsed.get_option_no_throw("--resume");
  return resume != nullptr && resume->count() > 0 ? nullptr : parsed.get_option_no_throw(name);
}

// Collects every option of the verb with its value, given or default.
JoinRequest request_of(const CLI::App& parsed) {
  JoinRequest request;
  request.version = build_name();
  request.timeout_seconds = with_comm(parsed)->get_option("--comm-timeout")->as<double>();
  request.told_to_end = &told_to_end;
  request.asked_to_end = &asked_to_end;
  request.end_run = [] { kill(getpid(), SIGTERM); };
  if (devices_of(parsed).backend != BackendChoice::Cpu) request.gpus = gpu_facts();
  if (const CLI::Option* tp = given_size(parsed, "--tp")) request.tp = tp->as<int>();
  request.options.push_back("verb=" + parsed.get_name());
  std::istringstream lines(parsed.config_to_str(true, false));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) request.options.push_back(line);
  return request;
}

// Checks that T x D is the number of processes.
void check_size(const CLI::App& parsed, const ProcessWorld& world) {
  const CLI::Option* const t = given_size(parsed, "--tp");
  const CLI::Option* const d = given_size(parsed, "--dp");
  const int tp = t == nullptr ? 0 : t->as<int>(), dp = d == nullptr ? 1 : d->as<int>();
  if (tp > 0 && dp > 0) world.require_size(tp, dp);  // else the verb refuses the settings
}

// Throws a request Error for the kinds of `bench` that measure threads of one process.
void check_what(const CLI::App& parsed) {
  if (parsed.get_name() != "bench") return;
  const std::string what = parsed.get_option("what")->as<std::string>();
  if (what == "step" || what == "allreduce") return;
  throw request_error(
      fmt::format("bench {} measures this machine's threads: leave out --comm mpi. Only bench step and bench "
                  "allreduce run over processes",
                  what));
}

// The first process's part. It prints its error before the other processes end, because mpirun ends all
// processes as soon as one has failed.
int run_first(ProcessWorld& world, const CLI::App& parsed, const Verb& verb) {
  int code = 0;
  try {
    check_what(parsed);
    check_size(*with_comm(parsed), world);
    world.choose(devices_of(parsed));  // refuses impossible devices before any file is read
    set_joined_world(&world);
    joined_world = &world;
    code = verb();
  } catch (const std::exception& error) {
    if (told_to_end && world.all_were_told_to_end())
      say(run_error("interrupted: mpirun told all processes to end; no process was lost"));
    else if (told_to_end && world.has_just_gone_on())
      say(run_error("the process of rank 0 was paused, and the other processes ended in the meantime"));
    else
      say(error);
    code = exit_code_of(error);
  }
  std::fflush(stdout);
  set_joined_world(nullptr);
  joined_world = nullptr;
  world.finish(code);
  if (code == kFailedRun) leave(code);
  world.await_ends();
  return code;
}

}  // namespace

void add_comm_options(CLI::App& verb) {
  const std::string group = "Processes";
  verb.add_option("--comm-timeout",
                  "Seconds that processes wait for each other at the start and at the end of the run")
      ->check(between(1.0, 86400.0))
      ->type_name("SECONDS")
      ->default_str("60")
      ->group(group);
}

void heed_mpirun(const siginfo_t& sender) {
  if (sender.si_pid == getppid()) told_to_end = true;
}

ProcessWorld* joined_processes() {
  return joined_world;
}

int run_in_world(const CLI::App& parsed, const Verb& verb) {
  const CLI::App* asked = with_comm(parsed);
  if (asked == nullptr) return verb();
  if ((*asked)["--comm"]->as<std::string>() != "mpi") {
    say_if_one_of_several();
    return verb();
  }
  const JoinRequest request = request_of(parsed);
  std::unique_ptr<Processes> processes;
  int code = 0;
  try {
    processes = open_mpi_processes(request.timeout_seconds);
    ProcessWorld world(*processes, request);
    try {
      if (world.commands()) {
        on_sigterm(end_unless_by_mpirun);
        code = run_first(world, parsed, verb);
      } else {
        // Only the first process handles the signals that end a run: it ends its step and saves. Ctrl+C
        // reaches it too.
        std::signal(SIGINT, SIG_IGN);
        on_sigterm(pass_on_unless_by_mpirun);
        code = world.serve();
        if (code == kFailedRun) leave(code);
      }
    } catch (const std::exception& error) {
      say(error);
      leave(exit_code_of(error));
    }
  } catch (const std::exception& error) {
    // All processes fail for the same reason, so only one of them prints it.
    if (processes == nullptr || processes->index() == 0) say(error);
    if (processes == nullptr) leave(exit_code_of(error));
    code = exit_code_of(error);
  }
  if (processes->end(request.timeout_seconds)) return code;
  say(run_error(
      fmt::format("process {} of {}: not all other processes reached the end of the run in {:.0f} s{}",
                  processes->index(), processes->count(), request.timeout_seconds,
                  stopped_siblings_text(processes->count()))));
  leave(kFailedRun);
}

}  // namespace shardlens::cli
