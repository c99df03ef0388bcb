// Runs one function on every rank of a local group, each rank in its own thread, and keeps each rank's
// exception.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/comm.h"

namespace shardlens {

using Failures = std::vector<std::optional<Error>>;

/// `body(communicator)` on every rank at once; what each rank threw, by rank.
inline Failures run_ranks(std::vector<std::unique_ptr<Communicator>>& group,
                          const std::function<void(Communicator&)>& body) {
  Failures failures(group.size());
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*group[rank]);
        // A rank that left on a failed assertion must not leave the others waiting for it.
        if (::testing::Test::HasFatalFailure()) group[rank]->abort("an assertion failed");
      } catch (const Error& error) {
        failures[rank] = error;
      }
    });
  }
  threads.clear();
  return failures;
}

/// The same on a new group of `ranks` ranks, none of which may throw.
inline void run_group(int ranks, const std::function<void(Communicator&)>& body) {
  auto group = make_local_group(ranks);
  for (const auto& failure : run_ranks(group, body)) ASSERT_FALSE(failure) << failure->what();
}

}  // namespace shardlens
