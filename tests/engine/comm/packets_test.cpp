// Packets to a process that does not receive them, or stops in the middle of one.
#include "engine/comm/packets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/base/clock.h"
#include "tests/engine/comm/child_process.h"

namespace shardlens {
namespace packets_test {

using ::testing::HasSubstr;

// One of two processes of which the other has stopped: nothing that was begun is ever done.
class BesideAStopped final : public Processes {
 public:
  int index() const override { return 0; }
  int count() const override { return 2; }
  std::string host() const override { return "here"; }
  std::string carrier() const override { return "nobody"; }
  Ticket send(int, int, const void*, size_t) override { return ++begun; }
  Ticket receive(int, int, void*, size_t) override { return ++begun; }
  bool is_done(Ticket) override { return false; }
  void give_up(Ticket) override { ++given_up; }
  std::optional<Incoming> incoming(int) override { return Incoming{1, 100}; }

  Ticket begun = 0;
  int given_up = 0;
};

// Seconds until it says that process 1 is late.
template <typename Call>
double late_after(const Call& call, const std::string& why) {
  const double begin = now_seconds();
  try {
    call();
    ADD_FAILURE() << "it was not late";
  } catch (const LateProcess& late) {
    EXPECT_EQ(late.process(), 1);
    EXPECT_THAT(late.what(), HasSubstr(why));
  }
  return now_seconds() - begin;
}

TEST(PacketLine, WhoDoesNotTakeAPacketIsLateAndIsSentNothingMore) {
  BesideAStopped processes;
  ProcessPatience patience{nullptr, 0.1};
  PacketLine line(processes, 1, patience);
  EXPECT_LT(late_after([&] { line.send(1, Packet().put(7), 0.2); }, "has not accepted"), 30);
  EXPECT_EQ(processes.begun, 1U);
  EXPECT_EQ(processes.given_up, 1);
  late_after([&] { line.send(1, Packet().put(8)); }, "earlier");
  EXPECT_EQ(processes.begun, 1U);
}

TEST(PacketLine, WhoStopsInTheMiddleOfAPacketIsLate) {
  BesideAStopped processes;
  const std::atomic<bool> told_to_end{true};
  ProcessPatience patience{&told_to_end, 1e9};
  PacketLine line(processes, 1, patience);
  EXPECT_LT(late_after([&] { line.poll(); }, "has not sent the rest"), 30);
  EXPECT_EQ(processes.given_up, 1);
}

TEST(PacketLine, WhoHasEndedIsLateAtOnce) {
  BesideAStopped processes;
  ChildProcess child;
  DepartedProcesses departed;
  departed.watch(1, child.identity());
  ProcessPatience patience{nullptr, 1e9, &departed};
  PacketLine line(processes, 1, patience);
  child.end();
  EXPECT_LT(late_after([&] { line.send(1, Packet().put(7)); }, "has ended, and has not accepted"), 30);
  EXPECT_LT(late_after([&] { line.poll(); }, "has ended, and has not sent the rest"), 30);
}

TEST(Looks, CountALongAbsenceLittleAndKnowOfIt) {
  Looks looks;
  EXPECT_FALSE(looks.has_just_gone_on());
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_LE(looks.next_seconds(), 0.5);
  EXPECT_TRUE(looks.has_just_gone_on());
}

}  // namespace packets_test
}  // namespace shardlens
