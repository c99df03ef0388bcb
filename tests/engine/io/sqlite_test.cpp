// A database that cannot be opened or written says the cause, and SQLite removes no file that is not its own.
#include "engine/io/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/engine/few_files.h"
#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace sqlite_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Access = Database::Access;

class SqliteTest : public TestFolder {
 protected:
  std::string made(const std::string& name) const {
    Database(path(name), Access::Create).run("CREATE TABLE t(x); INSERT INTO t VALUES(7)");
    return path(name);
  }
  static std::string refusal(const std::string& file, Access access) {
    return error_of([&] { Database(file, access).integer("SELECT x FROM t"); });
  }
};

constexpr Access kReading[] = {Access::Read, Access::ReadWrite, Access::Unlocked};

TEST_F(SqliteTest, WithoutPermissionItSaysSo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const std::string file = made("r");
  fs::create_directory(path("closed"));
  const std::string in_closed = made("closed/r");
  chmod(file.c_str(), 0);
  chmod(path("closed").c_str(), 0);
  ASSERT_EQ(seteuid(65534), 0);
  for (const Access access : kReading) {
    EXPECT_THAT(refusal(file, access), AllOf(HasSubstr(file), HasSubstr("Permission denied")));
    EXPECT_THAT(refusal(in_closed, access), AllOf(HasSubstr(in_closed), HasSubstr("Permission denied")));
  }
  EXPECT_THAT(error_of([&] { Database(path("new"), Access::Create); }), HasSubstr("cannot write"));
  ASSERT_EQ(seteuid(0), 0);
  chmod(path("closed").c_str(), 0700);
}

TEST_F(SqliteTest, APathThatIsTooLongForItIsCountedAndALittleShorterOneIsOpened) {
  constexpr size_t kMost = 504;
  std::string name;
  while (path(name).size() + 151 < kMost) name += std::string(150, 'd') + "/";
  fs::create_directories(path(name));
  const std::string longest = name + std::string(kMost - path(name).size(), 'f'), longer = longest + "f";
  EXPECT_EQ(refusal(made(longest), Access::ReadWrite), "no error");
  fs::copy(path(longest), path(longer));
  for (const Access access : kReading)
    EXPECT_THAT(refusal(path(longer), access), AllOf(HasSubstr("has 505 bytes"), HasSubstr("at most 504")));
  fs::remove(path(longer));
  EXPECT_THAT(error_of([&] { Database(path(longer), Access::Create); }), HasSubstr("has 505 bytes"));
  EXPECT_FALSE(fs::exists(path(longer)));
}

TEST_F(SqliteTest, WithoutAFileToOpenItSaysSo) {
  if (testing::kSanitizerNeedsFiles) GTEST_SKIP() << testing::kWhyFilesAreNeeded;
  const std::string file = made("r");
  const testing::FewFiles none(0);
  for (const Access access : kReading)
    EXPECT_THAT(refusal(file, access), AllOf(HasSubstr(file), HasSubstr("Too many open files")))
        << int(access);
  EXPECT_THAT(error_of([&] { Database(path("new"), Access::Create); }), HasSubstr("Too many open files"));
}

// The database is open, but the journal cannot be.
TEST_F(SqliteTest, WithoutAFileForTheJournalItSaysSo) {
  if (testing::kSanitizerNeedsFiles) GTEST_SKIP() << testing::kWhyFilesAreNeeded;
  Database database(made("r"), Access::ReadWrite);
  const testing::FewFiles none(0);
  EXPECT_THAT(error_of([&] { database.run("INSERT INTO t VALUES(8)"); }), HasSubstr("Too many open files"));
}

TEST_F(SqliteTest, BeyondTheLimitOnAFilesSizeItSaysSo) {
  Database database(made("r"), Access::ReadWrite);
  database.run("BEGIN");
  for (int i = 0; i < 100; ++i) database.run("INSERT INTO t VALUES(randomblob(3000))");
  const testing::FullDisk limit(100'000);
  EXPECT_THAT(
      error_of([&] { database.run("COMMIT"); }),
      AllOf(HasSubstr(path("r")), HasSubstr("File too large; no file may become larger than 100000 bytes")));
}

// SQLite would take a file of this name for its journal and remove it.
TEST_F(SqliteTest, AFileOfAPersonBesideItStays) {
  const std::string file = made("r");
  for (const std::string ending : {"-journal", "-wal"}) {
    const std::string notes = write("r" + ending, "my notes on this run");
    for (const Access access : {Access::Read, Access::ReadWrite})
      EXPECT_THAT(refusal(file, access), HasSubstr("r" + ending + " is not a file of SQLite's"));
    write("new" + ending, "my notes on a run to come");
    EXPECT_THAT(error_of([&] { Database(path("new"), Access::Create); }), HasSubstr("give it another name"));
    EXPECT_FALSE(fs::exists(path("new")));
    EXPECT_EQ(contents("r" + ending), "my notes on this run");
    EXPECT_EQ(contents("new" + ending), "my notes on a run to come");
    fs::remove(notes);
    fs::remove(path("new" + ending));
  }
  write("r-journal", "");  // a writer was killed before it wrote to it
  EXPECT_EQ(refusal(file, Access::ReadWrite), "no error");
}

TEST_F(SqliteTest, NothingIsWrittenWhereALinkBesideItLeads) {
  const std::string file = made("r");
  write("other", "");
  fs::create_symlink(path("other"), path("r-journal"));
  EXPECT_THAT(refusal(file, Access::ReadWrite), HasSubstr("r-journal is not a regular file"));
  fs::create_symlink(path("nowhere"), path("new-journal"));
  EXPECT_THAT(error_of([&] { Database(path("new"), Access::Create); }), HasSubstr("not a regular file"));
  EXPECT_EQ(contents("other"), "");
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

}  // namespace sqlite_test
}  // namespace shardlens
