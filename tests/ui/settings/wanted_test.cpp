// Settings between the change and the snapshot that contains it.
#include "ui/settings/wanted.h"

#include <gtest/gtest.h>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui {
namespace wanted_test {

Settings with_tp(int tp) {
  Settings settings;
  settings.tp = tp;
  return settings;
}

Snapshot snapshot_of(int tp) {
  Snapshot snapshot;
  snapshot.settings = with_tp(tp);
  return snapshot;
}

TEST(Wanted, IsTheSnapshotsOwnWithoutAChange) {
  Wanted wanted;
  EXPECT_EQ(wanted.settings(snapshot_of(4)).tp, 4);
}

TEST(Wanted, HoldsAChangeUntilItArrives) {
  Wanted wanted;
  wanted.sent(snapshot_of(1), with_tp(2));
  EXPECT_EQ(wanted.settings(snapshot_of(1)).tp, 2);
  wanted.sent(snapshot_of(1), with_tp(3));
  EXPECT_EQ(wanted.settings(snapshot_of(1)).tp, 3);
  EXPECT_EQ(wanted.settings(snapshot_of(2)).tp, 3) << "the first of two changes arrived";
  EXPECT_EQ(wanted.settings(snapshot_of(3)).tp, 3);
  EXPECT_EQ(wanted.settings(snapshot_of(6)).tp, 6) << "nothing in flight: the snapshot rules";
}

// As of a click whose panel reads on, or a command that asks for the wanted settings again.
TEST(Wanted, StaysWhatItWasForWhoHoldsItWhileMoreIsSent) {
  Wanted wanted;
  const Snapshot snapshot = snapshot_of(1);
  wanted.sent(snapshot, with_tp(2));
  const Settings& held = wanted.settings(snapshot);
  for (int tp = 3; tp < 40; ++tp) wanted.sent(snapshot, with_tp(tp));
  EXPECT_EQ(held, with_tp(2));
  wanted.sent(snapshot, held);
  EXPECT_EQ(wanted.settings(snapshot).tp, 2);
}

TEST(Wanted, GivesWayToSomebodyElsesChange) {
  Wanted wanted;
  wanted.sent(snapshot_of(1), with_tp(2));
  EXPECT_EQ(wanted.settings(snapshot_of(12)).tp, 12);
  EXPECT_EQ(wanted.settings(snapshot_of(1)).tp, 1) << "the chain was given up";
}

TEST(Wanted, SurvivesGoingBackToWhereItBegan) {
  Wanted wanted;
  wanted.sent(snapshot_of(1), with_tp(2));
  wanted.sent(snapshot_of(1), with_tp(1));
  EXPECT_EQ(wanted.settings(snapshot_of(1)).tp, 1);
}

}  // namespace wanted_test
}  // namespace shardlens::ui
