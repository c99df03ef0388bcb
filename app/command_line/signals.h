// How a signal ends a program: by its default action, after removing files that only the run needed.
#pragma once

#include <atomic>

namespace shardlens::cli {

/// From now on the signals that end a program from outside (SIGINT, SIGTERM, SIGHUP, SIGQUIT, and SIGXCPU,
/// for a limit on its time) first remove temporary files (engine/io/signal_cleanup.h). SIGPIPE ends nothing:
/// a reader who has seen enough (`| head -1`) does not decide about the run, and a write to the pipe fails as
/// on a full disk (standard_streams.h). Nor does SIGXFSZ: a write beyond the limit on a file's size fails
/// with "File too large". A signal that is ignored, as with nohup, stays ignored.
void end_cleanly_at_signals();

/// A verb that a signal stopped early, but that ended in order, returns this plus the signal, like a shell.
inline constexpr int kStoppedBySignal = 128;

/// From now on the first SIGINT, SIGTERM, SIGHUP or SIGXCPU ends nothing; the returned number is then the
/// signal, else 0. The second one ends the program at once, but not a SIGXCPU, which the system repeats every
/// second.
const std::atomic<int>& end_in_order_at_signals();

/// The handler: removes temporary files and ends the program by `signal`.
void end_by_signal(int signal);

}  // namespace shardlens::cli
