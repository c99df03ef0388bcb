// Ranks of the local communicator disagree, fail or are cancelled: all ranks get the error, none hangs, and
// none touches memory that another may have freed.
#include <atomic>
#include <chrono>
#include <future>

#include <gmock/gmock.h>

#include "tests/engine/comm/group_of_ranks.h"

namespace shardlens {
namespace local_failure_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

void expect_all(const Failures& failures, ErrorKind kind, const ::testing::Matcher<std::string>& message) {
  for (size_t rank = 0; rank < failures.size(); ++rank) {
    ASSERT_TRUE(failures[rank]) << "rank " << rank << " did not throw";
    EXPECT_EQ(failures[rank]->kind(), kind) << failures[rank]->what();
    EXPECT_THAT(failures[rank]->what(), message);
  }
}

TEST(LocalFailure, AbortWakesEveryWaiterAndStaysInForce) {
  for (const int ranks : {1, 2, 8}) {
    auto group = make_local_group(ranks);
    // Rank 0 never comes of its own accord: it aborts, and calls afterwards.
    const auto failures = run_ranks(group, [](Communicator& comm) {
      float data = 1;
      if (comm.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        comm.abort("rank 0 met a NaN");
        comm.abort("a second reason");
      }
      comm.all_reduce(DType::Fp32, 1, &data);
    });
    expect_all(failures, ErrorKind::Cancelled, ::testing::StrEq("rank 0 met a NaN"));
    const auto later = run_ranks(group, [](Communicator& comm) { comm.barrier(); });
    expect_all(later, ErrorKind::Cancelled, ::testing::StrEq("rank 0 met a NaN"));
  }
}

TEST(LocalFailure, AbortComesFromAnyThread) {
  auto group = make_local_group(3);
  std::jthread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    group[1]->abort("stopped");
  });
  const auto failures = run_ranks(group, [](Communicator& comm) {
    while (true) comm.barrier();
  });
  expect_all(failures, ErrorKind::Cancelled, ::testing::StrEq("stopped"));
}

// Each rank frees its buffers the moment a call returns or throws, while the group is aborted at any point of
// a collective. The address sanitizer sees it if another rank still works on them; without it the counts
// tell.
TEST(LocalFailure, NobodyLeavesWhileOthersWorkOnItsBuffers) {
  for (int round = 0; round < 60; ++round) {
    const int ranks = 2 + round % 3;
    auto group = make_local_group(ranks);
    std::vector<int> done(static_cast<size_t>(ranks), 0);
    std::jthread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(37 * round));
      group[0]->abort("stopped");
    });
    const auto failures = run_ranks(group, [&](Communicator& comm) {
      constexpr int64_t kCount = 50000;
      while (true) {
        std::vector<float> data(kCount, 1.0F);
        comm.all_reduce(DType::Fp32, kCount, data.data());
        ASSERT_EQ(data.front(), static_cast<float>(ranks));
        ASSERT_EQ(data.back(), static_cast<float>(ranks));
        ++done[static_cast<size_t>(comm.rank())];
      }
    });
    expect_all(failures, ErrorKind::Cancelled, ::testing::StrEq("stopped"));
    for (const int count : done) EXPECT_EQ(count, done[0]) << "a collective was finished by some ranks only";
  }
}

// One rank, the last of `ranks`, makes another call than the rest.
void expect_mismatch(int ranks, const std::function<void(Communicator&, float*)>& rest,
                     const std::function<void(Communicator&, float*)>& odd, const std::string& rest_text,
                     const std::string& odd_text) {
  auto group = make_local_group(ranks);
  const auto failures = run_ranks(group, [&](Communicator& comm) {
    std::vector<float> data(64, static_cast<float>(comm.rank()));
    const std::vector<float> before = data;
    const auto check_untouched = [&] { EXPECT_EQ(data, before) << "rank " << comm.rank(); };
    try {
      (comm.rank() == ranks - 1 ? odd : rest)(comm, data.data());
    } catch (const Error&) {
      check_untouched();
      throw;
    }
  });
  const auto message = AllOf(HasSubstr("rank 0 called " + rest_text), HasSubstr("called " + odd_text),
                             HasSubstr("rank " + std::to_string(ranks - 1) + " called"));
  expect_all(failures, ErrorKind::Run, message);
  expect_all(run_ranks(group, [](Communicator& comm) { comm.barrier(); }), ErrorKind::Run, message);
}

TEST(LocalFailure, DifferentCallsAreToldToEveryRankBeforeMemoryIsTouched) {
  const auto reduce_40 = [](Communicator& comm, float* data) { comm.all_reduce(DType::Fp32, 40, data); };
  const auto reduce_24 = [](Communicator& comm, float* data) { comm.all_reduce(DType::Fp32, 24, data); };
  const auto reduce_fp64 = [](Communicator& comm, float* data) { comm.all_reduce(DType::Fp64, 40, data); };
  const auto barrier = [](Communicator& comm, float*) { comm.barrier(); };
  const auto from_0 = [](Communicator& comm, float* data) { comm.broadcast(DType::Fp32, 8, 0, data); };
  const auto from_1 = [](Communicator& comm, float* data) { comm.broadcast(DType::Fp32, 8, 1, data); };
  const auto gather = [](Communicator& comm, float* data) {
    comm.all_gather(DType::Fp32, {2, 4, 2}, data, data + 32);
  };
  const auto scatter = [](Communicator& comm, float* data) {
    comm.reduce_scatter(DType::Fp32, {2, 4, 2}, data, data + 32);
  };
  const auto other_slicing = [](Communicator& comm, float* data) {
    comm.all_gather(DType::Fp32, {1, 4, 4}, data, data + 32);
  };
  const auto to_columns = [](Communicator& comm, float* data) {
    comm.all_to_all(DType::Fp32, {4, 4}, 0, 1, data, data + 32);
  };
  const auto to_rows = [](Communicator& comm, float* data) {
    comm.all_to_all(DType::Fp32, {4, 4}, 1, 0, data, data + 32);
  };
  expect_mismatch(2, reduce_40, reduce_24, "all-reduce of 40 fp32", "all-reduce of 24 fp32");
  expect_mismatch(4, reduce_40, reduce_24, "all-reduce of 40 fp32", "all-reduce of 24 fp32");
  expect_mismatch(3, reduce_40, reduce_fp64, "all-reduce of 40 fp32", "all-reduce of 40 fp64");
  expect_mismatch(8, barrier, reduce_40, "barrier", "all-reduce of 40 fp32");
  expect_mismatch(3, from_0, from_1, "broadcast of 8 fp32 from rank 0", "broadcast of 8 fp32 from rank 1");
  expect_mismatch(2, gather, scatter, "all-gather of [2, 4, 2] fp32", "reduce-scatter of [2, 4, 2] fp32");
  expect_mismatch(2, gather, other_slicing, "all-gather of [2, 4, 2] fp32", "all-gather of [1, 4, 4] fp32");
  expect_mismatch(2, to_columns, to_rows, "all-to-all of [1, 4, 1, 4, 1] fp32 from axis 1 to axis 3",
                  "all-to-all of [1, 4, 1, 4, 1] fp32 from axis 3 to axis 1");
}

// After a mismatch every rank calls again at once: nobody may disturb a rank that is still comparing.
TEST(LocalFailure, MismatchIsToldEquallyHoweverTheRanksRace) {
  for (int round = 0; round < 300; ++round) {
    auto group = make_local_group(4);
    const auto failures = run_ranks(group, [](Communicator& comm) {
      float data = 0;
      try {
        comm.broadcast(DType::Fp32, 1, comm.rank() == 3 ? 1 : 0, &data);
      } catch (const Error& error) {
        EXPECT_THROW(comm.all_reduce(DType::Fp32, 1, &data), Error);
        throw;
      }
    });
    expect_all(failures, ErrorKind::Run, ::testing::StrEq(failures[0]->what()));
  }
}

TEST(LocalFailure, WrongRequestsNameTheRemedy) {
  EXPECT_THROW(make_local_group(0), Error);
  EXPECT_THROW(make_local_group(-3), Error);

  auto group = make_local_group(2);
  Communicator& comm = *group[0];
  float data[4] = {};
  const auto refused = [&](const std::function<void()>& call, const std::string& remedy) {
    try {
      call();
      ADD_FAILURE() << "not refused, expected: " << remedy;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Request);
      EXPECT_THAT(error.what(), HasSubstr(remedy));
    }
  };
  refused([&] { comm.all_reduce(DType::Int32, 2, data); }, "floating-point");
  refused([&] { comm.broadcast(DType::Int32, 2, 0, data); }, "floating-point");
  refused([&] { comm.all_reduce(DType::Fp32, -1, data); }, "0 or more");
  refused([&] { comm.broadcast(DType::Fp32, 2, 2, data); }, "ranks 0 to 1");
  refused([&] { comm.broadcast(DType::Fp32, 2, -1, data); }, "ranks 0 to 1");
  refused(
      [&] {
        comm.all_to_all(DType::Fp32, {2, 2}, 1, 1, data, data);
      },
      "two different dimensions below 2");
  refused(
      [&] {
        comm.all_to_all(DType::Fp32, {2, 2}, 0, 2, data, data);
      },
      "two different dimensions below 2");
}

}  // namespace local_failure_test
}  // namespace shardlens
