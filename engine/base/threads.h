// Starts threads. The system can refuse to start one: the user, the container or the machine has a limit.
// Then nothing must wait for the thread that is missing, and the message names the limit.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace shardlens {

/// Starts a thread that runs `main`. `what` it is for: "the studio's session". Throws a run Error that names
/// the limits if it cannot start.
std::thread start_thread(const std::string& what, std::function<void()> main);

/// Starts `count` threads that run main(0), main(1) and so on, all of them or none: no main() is called
/// before all threads are there. So they may wait for one another. Throws as start_thread().
std::vector<std::thread> start_threads(const std::string& what, int count, std::function<void(int)> main);

/// start_threads(), and waits until all have ended. main() must not throw. Where workers take turns, a single
/// one runs on the caller's thread, which need not have others.
void run_threads(const std::string& what, int count, std::function<void(int)> main);

}  // namespace shardlens
