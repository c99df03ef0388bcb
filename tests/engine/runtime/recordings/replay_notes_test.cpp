// A recording's notes: kept in its file, or elsewhere if the file cannot be written, and read whatever they
// hold.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "engine/io/sqlite.h"
#include "tests/engine/runtime/recordings/replay_fixture.h"

namespace shardlens {
namespace replay_notes_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ReplayTest, NotesAreInTheFile) {
  const std::string file = record("run");
  opened(file);
  Note late, early;
  late.seconds = replay_.snapshot()->recording->seconds;
  late.text = "the loss – falls";
  early.step = 7;
  early.rank = 1;
  after(replay_command::AddNote{late});
  const Shown two = after(replay_command::AddNote{early});
  ASSERT_EQ(two->notes->size(), 2u);
  EXPECT_EQ((*two->notes)[0].note.step, 7) << "in the order of their moments";
  EXPECT_EQ((*two->notes)[0].pass, 0);
  EXPECT_EQ((*two->notes)[1].pass, 3);
  EXPECT_TRUE((*two->notes)[0].saved);
  const int64_t id = (*two->notes)[0].note.id;
  after(replay_command::EditNote{id, "changed"});
  EXPECT_EQ(Recording(file).notes()[0].text, "changed");
  EXPECT_EQ(Recording(file).notes()[1].text, late.text);
  after(replay_command::RemoveNote{id});
  ASSERT_EQ(Recording(file).notes().size(), 1u);
  after(replay_command::Close{});
  EXPECT_EQ(opened(file)->notes->size(), 1u);
}

TEST_F(ReplayTest, ANoteThatCannotBeSavedIsKeptAndSavedLater) {
  const std::string file = record("run");
  opened(file);
  Database other(file, Database::Access::ReadWrite);
  other.run("BEGIN IMMEDIATE");
  Note note;
  note.text = "mine";
  const Shown kept = after(replay_command::AddNote{note});
  EXPECT_THAT(kept->message, HasSubstr("not saved"));
  ASSERT_EQ(kept->notes->size(), 1u);
  EXPECT_FALSE(kept->notes->front().saved);
  EXPECT_EQ(kept->notes->front().note.text, "mine");
  other.run("COMMIT");
  const Shown saved = after(replay_command::AddNote{{}});
  ASSERT_EQ(saved->notes->size(), 2u);
  EXPECT_TRUE(saved->notes->front().saved);
  EXPECT_EQ(Recording(file).notes().size(), 2u);
}

TEST_F(ReplayTest, AFileThatMayNotBeWrittenSaysSo) {
  const std::string file = record("run");
  const fs::perms may_read = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  const fs::perms may_enter = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  fs::permissions(file, may_read);
  fs::permissions(path(""), may_read | may_enter);
  const bool root = geteuid() == 0;
  ASSERT_EQ(root ? seteuid(65534) : 0, 0);  // whom permissions bind
  const Shown shown = opened(file);
  const Shown kept = after(replay_command::AddNote{{}});
  ASSERT_EQ(root ? seteuid(0) : 0, 0);
  fs::permissions(path(""), fs::perms::owner_all);
  ASSERT_TRUE(shown->is_open()) << shown->message;
  EXPECT_THAT(kept->message, HasSubstr("not saved"));
  ASSERT_EQ(kept->notes->size(), 1u);
  EXPECT_FALSE(kept->notes->front().saved);
}

TEST_F(ReplayTest, AFileDeletedMovedOrReplacedWhileItIsOpenIsSaid) {
  for (const bool is_replaced : {false, true}) {
    const std::string file = record(is_replaced ? "replaced" : "deleted");
    const std::string other = record(is_replaced ? "other" : "none of them");
    opened(file);
    is_replaced ? fs::rename(other, file) : static_cast<void>(fs::remove(file));
    const Shown kept = after(replay_command::AddNote{{}});
    EXPECT_THAT(kept->message, HasSubstr("was deleted, moved or replaced while it was open"));
    EXPECT_THAT(kept->message, Not(HasSubstr("readonly")));
    EXPECT_THAT(kept->message, Not(HasSubstr("journal"))) << "a remedy for something else";
    ASSERT_EQ(kept->notes->size(), 1u);
    EXPECT_FALSE(kept->notes->front().saved);
    const Shown moved = after(replay_command::ShowPass{2});
    EXPECT_EQ(moved->pass, 2) << "what was opened can still be looked at";
  }
}

TEST_F(ReplayTest, HostileNotesAreRead) {
  const std::string file = record("run");
  Database(file, Database::Access::ReadWrite)
      .run(
          "INSERT INTO notes VALUES(1, -5, 99, -7, ''), (2, 9223372036854775807, 1, 123456789, "
          "hex(zeroblob(100000)))");
  const Shown shown = opened(file);
  ASSERT_TRUE(shown->is_open()) << shown->message;
  ASSERT_EQ(shown->notes->size(), 2u);
  for (const ReplayNote& note : *shown->notes) {
    EXPECT_GE(note.note.seconds, 0);
    EXPECT_LT(note.note.step, static_cast<StepId>(shown->recording->plan->program.steps.size()));
    EXPECT_LE(note.note.text.size(), kLongestNoteBytes);
  }
  Database(file, Database::Access::ReadWrite).run("INSERT INTO notes VALUES(3, 'x', 'y', 'z', 4)");
  EXPECT_THAT(opened(file)->message, HasSubstr("ns is a text, but should be a whole number"));
}

}  // namespace replay_notes_test
}  // namespace shardlens
