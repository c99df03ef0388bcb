// How a signal ends a program: as if nobody had heard it, but for the files that only the run needed.
#pragma once

namespace shardlens::cli {

/// From now on the signals by which a person, a terminal or a reader that has seen enough ends a program
/// remove what is fleeting (engine/io/fleeting.h) first. Those that somebody ignores, as nohup does, stay so.
void end_cleanly_at_signals();

/// A verb that a signal stopped before all was done, and that ended in order, returns this plus the signal:
/// the exit code as a shell tells it.
inline constexpr int kStoppedBySignal = 128;

/// The handler: removes what is fleeting and ends the program by `signal`.
void end_by_signal(int signal);

}  // namespace shardlens::cli
