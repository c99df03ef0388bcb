// How a signal ends a program: by its default action, after removing files that only the run needed.
#pragma once

namespace shardlens::cli {

/// From now on SIGINT, SIGTERM and SIGHUP first remove temporary files (engine/io/signal_cleanup.h). SIGPIPE
/// ends nothing: a reader who has seen enough (`| head -1`) does not decide about the run, and a write to the
/// pipe fails as on a full disk (standard_streams.h). A signal that is ignored, as with nohup, stays ignored.
void end_cleanly_at_signals();

/// A verb that a signal stopped early, but that ended in order, returns this plus the signal, like a shell.
inline constexpr int kStoppedBySignal = 128;

/// The handler: removes temporary files and ends the program by `signal`.
void end_by_signal(int signal);

}  // namespace shardlens::cli
