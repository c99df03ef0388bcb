// A verb in the world it was asked for: in this process, or over the processes that mpirun started.
#pragma once

#include <csignal>

#include "app/cli/verbs.h"

namespace shardlens {
class ProcessWorld;
}

namespace shardlens::cli {

/// Adds to a verb that runs ranks, and has --comm, what is about processes.
void add_comm_options(CLI::App& verb);

/// Runs `verb`, which `parsed` asked for, and returns the exit code. With --comm mpi only the first process
/// runs it, prints, and writes files; the others serve it, and end with the same code. Throws what the verb
/// throws, and what joining throws.
int run_in_world(const CLI::App& parsed, const Verb& verb);

/// The processes that the verb runs over; null: this one alone.
ProcessWorld* joined_processes();

/// For who handles SIGTERM: mpirun tells its processes to end by it when it has lost one, and ends them
/// itself a second later; who waits for another process then soon says which. Safe in a signal's handler.
void heed_mpirun(const siginfo_t& sender);

/// What the program ends with where it has not done what was asked.
inline constexpr int kWrongRequest = 2, kFailedRun = 3;

/// One of these two.
int exit_code_of(const std::exception& error);
/// Says it on stderr as the program does; nowhere, where there is none.
void say(const std::string& sentence);
void say(const std::exception& error);

}  // namespace shardlens::cli
