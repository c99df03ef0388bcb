// Compares the communicator over processes with the one over threads: every collective of any size leaves the
// same bits and counts the same bytes, however small its messages and blocks are.
#include "engine/comm/process_group.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>

#include "tests/engine/comm/child_process.h"
#include "tests/engine/comm/drawn_collectives.h"
#include "tests/engine/comm/group_of_ranks.h"
#include "tests/engine/comm/thread_processes.h"

namespace shardlens {
namespace process_group_test {

struct OverThreads {
  explicit OverThreads(int ranks, size_t most_message_bytes = Processes::kMostBytes,
                       size_t block_bytes = size_t{1} << 20)
      : processes(make_thread_processes(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      ProcessGroup place;
      // In another order than the processes': a group's ranks may be anywhere.
      for (int r = 0; r < ranks; ++r) place.members.push_back(ranks - 1 - r);
      place.rank = rank;
      place.tag = 5;
      place.info = {"mpi", "threads in a test"};
      place.most_message_bytes = most_message_bytes;
      place.block_bytes = block_bytes;
      group.push_back(
          make_process_communicator(*processes[static_cast<size_t>(ranks - 1 - rank)], std::move(place)));
    }
  }
  std::vector<std::unique_ptr<ThreadProcesses>> processes;
  std::vector<std::unique_ptr<Communicator>> group;
};

struct Outcome {
  std::vector<std::vector<char>> left;
  std::vector<int64_t> sent;
};

Outcome run_drawn(std::vector<std::unique_ptr<Communicator>>& group,
                  const std::vector<DrawnCollective>& collectives) {
  Outcome outcome;
  outcome.left.resize(group.size());
  outcome.sent.resize(group.size());
  for (const auto& failure : run_ranks(group, [&](Communicator& comm) {
         for (const DrawnCollective& drawn : collectives) {
           int64_t sent = 0;
           const std::vector<char> left = call_drawn(drawn, comm, sent);
           auto& all = outcome.left[static_cast<size_t>(comm.rank())];
           all.insert(all.end(), left.begin(), left.end());
           outcome.sent[static_cast<size_t>(comm.rank())] += sent;
         }
       })) {
    EXPECT_FALSE(failure) << failure->what();
  }
  return outcome;
}

TEST(ProcessGroup, GivesTheBitsAndCountsTheBytesOfTheLocalOne) {
  std::mt19937 random(20);
  for (int ranks = 1; ranks <= 8; ++ranks) {
    std::vector<DrawnCollective> collectives;
    for (int i = 0; i < 60; ++i) collectives.push_back(draw_collective(random, ranks));
    auto local = make_local_group(ranks);
    const Outcome expected = run_drawn(local, collectives);
    for (const size_t message_bytes : {Processes::kMostBytes, size_t{100}}) {
      OverThreads over(ranks, message_bytes, message_bytes == 100 ? 64 : size_t{1} << 20);
      const Outcome got = run_drawn(over.group, collectives);
      EXPECT_TRUE(got.left == expected.left) << ranks << " ranks, messages of " << message_bytes;
      EXPECT_EQ(got.sent, expected.sent) << ranks << " ranks, messages of " << message_bytes;
    }
  }
}

TEST(ProcessGroup, LeavesItsBuffersAloneWhenRanksDisagree) {
  OverThreads over(3);
  std::vector<std::vector<float>> data(3, std::vector<float>(8, 1));
  const Failures failures = run_ranks(over.group, [&](Communicator& comm) {
    auto& own = data[static_cast<size_t>(comm.rank())];
    comm.all_reduce(DType::Fp32, comm.rank() == 2 ? 7 : 8, own.data());
  });
  for (const auto& failure : failures) {
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind(), ErrorKind::Run);
    EXPECT_NE(std::string(failure->what())
                  .find("rank 0 called all-reduce of 8 fp32, rank 2 called all-reduce "
                        "of 7 fp32"),
              std::string::npos)
        << failure->what();
  }
  EXPECT_EQ(data, std::vector<std::vector<float>>(3, std::vector<float>(8, 1)));
}

TEST(ProcessGroup, WhoWaitsForARankThatNeverComesCanBeToldToGiveUp) {
  OverThreads over(2);
  std::vector<float> data(100000, 1);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    over.group[0]->abort("rank 1 was lost");
  });
  try {
    over.group[0]->all_reduce(DType::Fp32, static_cast<int64_t>(data.size()), data.data());
    FAIL() << "nobody met it";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    EXPECT_STREQ(error.what(), "rank 1 was lost");
  }
  EXPECT_THROW(over.group[0]->barrier(), Error);
}

struct MeetingsOverThreads {
  explicit MeetingsOverThreads(int ranks, double patience_seconds = kNoTimeout)
      : processes(make_thread_processes(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      ProcessGroup place;
      for (int r = 0; r < ranks; ++r) place.members.push_back(r);
      place.rank = rank;
      place.patience_seconds = patience_seconds;
      group.push_back(make_process_meeting(*processes[static_cast<size_t>(rank)], std::move(place)));
    }
  }
  std::vector<std::unique_ptr<ThreadProcesses>> processes;
  std::vector<std::unique_ptr<HostMeeting>> group;
};

// What each rank throws, by rank.
std::vector<std::optional<Error>> run_meetings(MeetingsOverThreads& over,
                                               const std::function<void(HostMeeting&)>& run) {
  std::vector<std::optional<Error>> thrown(over.group.size());
  std::vector<std::jthread> threads;
  for (auto& meeting : over.group) {
    threads.emplace_back([&] {
      try {
        run(*meeting);
      } catch (const Error& error) {
        thrown[static_cast<size_t>(meeting->rank())] = error;
      }
    });
  }
  threads.clear();
  return thrown;
}

TEST(HostMeeting, WhatRankZeroHasReachesAll) {
  MeetingsOverThreads over(4);
  std::vector<std::array<char, 128>> id(4);
  for (size_t i = 0; i < id[0].size(); ++i) id[0][i] = static_cast<char>(3 * i);
  for (const auto& error : run_meetings(over, [&](HostMeeting& meeting) {
         auto& own = id[static_cast<size_t>(meeting.rank())];
         meeting.hand_out(own.data(), own.size());
       }))
    EXPECT_FALSE(error) << error->what();
  for (const auto& got : id) EXPECT_EQ(got, id[0]);
}

TEST(HostMeeting, NobodyGoesOnBeforeAllHaveCome) {
  MeetingsOverThreads over(3);
  std::array<std::atomic<int>, 3> came{};
  const Request request = all_reduce_request(DType::Bf16, 100, Reduction::Sum);
  for (const auto& error : run_meetings(over, [&](HostMeeting& meeting) {
         for (int round = 1; round <= 200; ++round) {
           came[static_cast<size_t>(meeting.rank())] = round;
           meeting.meet(request);
           for (const auto& other : came) EXPECT_GE(other, round);
         }
       }))
    EXPECT_FALSE(error) << error->what();
}

TEST(HostMeeting, RanksThatDisagreeAllSaySo) {
  MeetingsOverThreads over(3);
  for (const auto& error : run_meetings(over, [&](HostMeeting& meeting) {
         meeting.meet(all_reduce_request(DType::Fp32, meeting.rank() == 1 ? 7 : 8, Reduction::Sum));
       })) {
    ASSERT_TRUE(error);
    EXPECT_NE(std::string(error->what()).find("rank 1 called all-reduce of 7 fp32"), std::string::npos);
  }
}

TEST(HostMeeting, WhoDoesNotComeIsLostByName) {
  MeetingsOverThreads over(3, 0.2);
  std::vector<int> lost;
  run_meetings(over, [&](HostMeeting& meeting) {
    if (meeting.rank() == 2) return;
    try {
      meeting.meet(all_reduce_request(DType::Fp32, 8, Reduction::Sum));
    } catch (const LostRanks& error) {
      if (meeting.rank() == 0) lost = error.ranks();
      throw;
    }
  });
  EXPECT_EQ(lost, std::vector<int>{2});
}

/// Ranks 0 and 2 of the three all-reduce and rank 1 does not come: both name it, after `least_waited_seconds`
/// at the earliest, in a message that holds `text`.
void expect_rank_1_is_lost(std::vector<std::unique_ptr<Communicator>>& group, double least_waited_seconds,
                           const std::string& text) {
  const Failures failures = run_ranks(group, [&](Communicator& comm) {
    float one = 1;
    if (comm.rank() == 1) return;
    try {
      comm.all_reduce(DType::Fp32, 1, &one);
    } catch (const LostRanks& lost) {
      EXPECT_EQ(lost.ranks(), std::vector<int>{1});
      EXPECT_GE(lost.waited_seconds(), least_waited_seconds);
      throw;
    }
  });
  for (const int rank : {0, 2}) {
    ASSERT_TRUE(failures[static_cast<size_t>(rank)]);
    EXPECT_NE(std::string(failures[static_cast<size_t>(rank)]->what()).find(text), std::string::npos)
        << failures[static_cast<size_t>(rank)]->what();
  }
}

TEST(ProcessGroup, NamesTheRanksThatDoNotComeInTime) {
  auto processes = make_thread_processes(3);
  std::vector<std::unique_ptr<Communicator>> group;
  for (int rank = 0; rank < 3; ++rank) {
    ProcessGroup place;
    place.members = {0, 1, 2};
    place.rank = rank;
    place.patience_seconds = 0.1;
    group.push_back(make_process_communicator(*processes[static_cast<size_t>(rank)], std::move(place)));
  }
  expect_rank_1_is_lost(group, 0.1, "rank 1 did not come to all-reduce of 1 fp32 in 0.1");
}

TEST(ProcessGroup, NamesWhoseProcessHasEndedWithoutWaitingForTheTimeOut) {
  auto processes = make_thread_processes(3);
  ChildProcess child;
  DepartedProcesses departed;
  departed.watch(1, child.identity());
  std::vector<std::unique_ptr<Communicator>> group;
  for (int rank = 0; rank < 3; ++rank) {
    ProcessGroup place;
    place.members = {2, 1, 0};
    place.rank = rank;
    place.departed = &departed;
    group.push_back(make_process_communicator(*processes[static_cast<size_t>(2 - rank)], std::move(place)));
  }
  child.end();
  expect_rank_1_is_lost(group, 0, ", and has ended");
}

TEST(ProcessGroup, TimesOfAllRanksAreOnOneClock) {
  const std::atomic<double> ahead = 1000;  // rank 1's clock is so far behind
  auto processes = make_thread_processes(2);
  std::vector<std::unique_ptr<Communicator>> group;
  for (int rank = 0; rank < 2; ++rank) {
    ProcessGroup place;
    place.members = {0, 1};
    place.rank = rank;
    if (rank == 1) place.clock_offset_seconds = &ahead;
    group.push_back(make_process_communicator(*processes[static_cast<size_t>(rank)], std::move(place)));
  }
  // To rank 0, whose clock is taken for that of all, the other one came 1000 s from now, which is cut off at
  // now; to rank 1 the first one came long ago.
  std::vector<CollectiveTimes> times(2);
  for (const auto& failure : run_ranks(group, [&](Communicator& comm) {
         float one = 1;
         times[static_cast<size_t>(comm.rank())] = comm.all_reduce(DType::Fp32, 1, &one);
       }))
    ASSERT_FALSE(failure) << failure->what();
  EXPECT_GT(times[0].all_arrived_seconds, times[0].arrival_seconds);
  EXPECT_LE(times[0].all_arrived_seconds, times[0].done_seconds);
  constexpr double kRounding = 1e-9;  // of a clock that was put forward and back
  EXPECT_NEAR(times[1].all_arrived_seconds, times[1].arrival_seconds, kRounding);
}

}  // namespace process_group_test
}  // namespace shardlens
