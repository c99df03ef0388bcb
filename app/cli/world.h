// Runs a verb in this process, or over the processes that mpirun started (--comm mpi).
#pragma once

#include <csignal>

#include "app/cli/verbs.h"
#include "app/command_line/messages.h"

namespace shardlens {
class ProcessWorld;
}

namespace shardlens::cli {

/// Adds the options about processes to a verb that runs ranks and has --comm.
void add_comm_options(CLI::App& verb);

/// Runs `verb` with the options in `parsed` and returns the exit code. With --comm mpi only the first process
/// runs it, prints, and writes files; the others serve it and end with the same code. Throws what the verb
/// and joining throw.
int run_in_world(const CLI::App& parsed, const Verb& verb);

/// Returns the processes that the verb runs over, or null if it is this process only.
ProcessWorld* joined_processes();

/// For a handler of SIGTERM: notes if mpirun sent it. mpirun sends it to its processes when it has lost one,
/// and kills them a second later. A process that waits for another one then quickly reports which. Safe in a
/// signal handler.
void heed_mpirun(const siginfo_t& sender);

}  // namespace shardlens::cli
