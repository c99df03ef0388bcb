// Every command reaches the list of the part of the engine that it is for.
#include "ui/outbox.h"

#include <gtest/gtest.h>

namespace shardlens::ui {
namespace outbox_test {

TEST(Outbox, SortsCommandsByThePartOfTheEngine) {
  Outbox outbox;
  EXPECT_TRUE(outbox.empty());
  outbox.send(command::Pause{});
  outbox.send(train_command::Pause{});
  outbox.send(replay_command::Seek{2});
  EXPECT_EQ(outbox.of<Command>().size(), 1u);
  EXPECT_EQ(outbox.of<TrainCommand>().size(), 1u);
  EXPECT_TRUE(outbox.of<HistoryCommand>().empty());
  EXPECT_TRUE(contains<replay_command::Seek>(outbox.of<ReplayCommand>()));
  EXPECT_FALSE(contains<replay_command::Close>(outbox.of<ReplayCommand>()));
  EXPECT_FALSE(outbox.empty());
  outbox.clear();
  EXPECT_TRUE(outbox.empty());
}

}  // namespace outbox_test
}  // namespace shardlens::ui
