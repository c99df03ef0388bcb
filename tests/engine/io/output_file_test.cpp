// What an output may replace, and that it has one writer.
#include "engine/io/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/io/atomic_file.h"
#include "engine/io/input_file.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace output_file_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr OutputKind kTable{"a table of this test", [](std::string_view beginning, std::string_view) {
                              return beginning.starts_with("a,b\n");
                            }};

class OutputFileTest : public TestFolder {
 protected:
  void TearDown() override {
    set_existing_outputs({});
    TestFolder::TearDown();
  }
  std::string refused(const std::string& name, const OutputKind& kind = kTable) {
    return error_of([&] { write_file_atomically(path(name), kind, "a,b\n1,2\n"); });
  }
};

TEST_F(OutputFileTest, AFileOfItsKindAndAnEmptyOneAreReplaced) {
  write("old.csv", "a,b\n");
  write("empty.csv", "");
  for (const char* name : {"old.csv", "empty.csv", "new.csv"}) {
    EXPECT_EQ(refused(name), "no error");
    EXPECT_EQ(contents(name), "a,b\n1,2\n");
  }
}

TEST_F(OutputFileTest, AFileOfAnotherKindIsNamedAndStays) {
  const std::pair<std::string, const char*> cases[] = {
      {"one,two\n", "is a text, not a table of this test"},
      {"%PDF-1.7 thesis", "is a PDF"},
      {std::string("SQLite format 3\0", 16) + std::string(52, '\1') + "SHLD", "is a recording"},
      {std::string("SQLite format 3\0", 16) + std::string(56, '\0'), "is a database of SQLite"},
      {"\x89PNG\r\n", "is a picture (PNG)"},
      {std::string("\x7f\0\1", 3), "is a file of an unknown form"}};
  for (const auto& [text, what] : cases) {
    write("x.csv", text);
    EXPECT_THAT(refused("x.csv"), AllOf(HasSubstr("cannot write " + path("x.csv")), HasSubstr(what),
                                        HasSubstr("give a new name, or move that file away")));
    EXPECT_EQ(contents("x.csv"), text);
  }
  set_existing_outputs(Existing::Replaced);
  EXPECT_THAT(refused("x.csv"), HasSubstr("unknown form"));
}

// The name says nothing: a link and a hard link lead to the same file.
TEST_F(OutputFileTest, AnInputIsNeverReplaced) {
  write("in.csv", "a,b\n7,8\n");
  write("copy.csv", "a,b\n7,8\n");
  fs::create_symlink("in.csv", path("link.csv"));
  fs::create_hard_link(path("in.csv"), path("hard.csv"));
  InputFile(path("in.csv")).text();
  set_existing_outputs(Existing::Replaced);
  for (const char* name : {"in.csv", "link.csv", "hard.csv"})
    EXPECT_THAT(refused(name), AllOf(HasSubstr("this command reads that file"), HasSubstr("another name")))
        << name;
  EXPECT_EQ(contents("in.csv"), "a,b\n7,8\n");
  EXPECT_EQ(refused("copy.csv"), "no error");
  OutputKind updated = kTable;
  updated.is_updated = true;
  EXPECT_EQ(refused("in.csv", updated), "no error");
}

TEST_F(OutputFileTest, TwoOptionsDecideAboutFilesOfTheKind) {
  write("x", "a,b\n");
  OutputKind kept = kTable;
  kept.habit = Existing::Kept;
  EXPECT_THAT(refused("x", kept),
              AllOf(HasSubstr("x is there already; give a new name"), HasSubstr("--overwrite")));
  set_existing_outputs(Existing::Replaced);
  EXPECT_EQ(refused("x", kept), "no error");
  set_existing_outputs(Existing::Kept);
  EXPECT_THAT(refused("x"), HasSubstr("leave out --no-overwrite"));
  EXPECT_EQ(refused("y"), "no error");
  OutputKind updated = kTable;
  updated.is_updated = true;
  EXPECT_EQ(refused("x", updated), "no error");  // asked where its run began:
  EXPECT_THAT(error_of([&] { OutputPlace(path("x"), updated); }), HasSubstr("is there already"));
  EXPECT_EQ(error_of([&] { OutputPlace(path("x"), updated, true); }), "no error");
}

TEST_F(OutputFileTest, AFileThatComesDuringTheWorkIsLookedAtToo) {
  AtomicFile file(path("x"), kTable);
  file.write("a,b\n", 4);
  write("x", "mine");
  EXPECT_THAT(error_of([&] { file.commit(); }), HasSubstr("is a text"));
  EXPECT_EQ(contents("x"), "mine");
}

TEST_F(OutputFileTest, APlaceHasOneOwnerByWhateverName) {
  write("x", "a,b\n");
  fs::create_symlink("x", path("link"));
  {
    const OutputPlace place(path("x"), kTable);
    for (const char* name : {"x", "link"})
      EXPECT_THAT(
          error_of([&] { OutputPlace(path(name), kTable); }),
          AllOf(HasSubstr("another run is writing to " + path("x")), HasSubstr("wait until it ends")));
    EXPECT_EQ(refused("x"), "no error");  // the owner writes
  }
  EXPECT_EQ(error_of([&] { OutputPlace(path("x"), kTable); }), "no error");
  const OutputFolder folder(path("deep/er"));
  EXPECT_TRUE(fs::is_directory(path("deep/er")));
  EXPECT_THAT(error_of([&] { OutputFolder(path("deep/er/")); }), HasSubstr("another run is writing to"));
}

// Someone's own file may be called like the lock: `--out poetry` beside poetry.lock.
TEST_F(OutputFileTest, ALockIsNeverSomebodysFile) {
  write("poetry.lock", "mine");
  {
    const OutputPlace place(path("poetry"), kTable);
    EXPECT_THAT(error_of([&] { OutputPlace(path("poetry"), kTable); }), HasSubstr("another run"));
  }
  EXPECT_EQ(contents("poetry.lock"), "mine");
}

TEST_F(OutputFileTest, ImpossiblePlacesAreRefusedWithTheReason) {
  EXPECT_THAT(error_of([&] { OutputPlace(path("absent/x"), kTable); }),
              HasSubstr("name a folder that exists"));
  EXPECT_THAT(error_of([&] { OutputPlace(folder_.string(), kTable); }), HasSubstr("it is a folder"));
  write("file", "");
  EXPECT_THAT(
      error_of([&] { OutputFolder(path("file")); }),
      AllOf(HasSubstr("cannot make the folder " + path("file")), HasSubstr("a file of that name exists")));
  EXPECT_THAT(error_of([&] { OutputFolder(path("file/in")); }), HasSubstr("a part of that path is a file"));
  EXPECT_THAT(error_of([&] { OutputFolder("/proc/none"); }),
              HasSubstr("cannot make the folder /proc/none: No such file"));
}

}  // namespace output_file_test
}  // namespace shardlens
