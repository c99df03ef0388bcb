// A file that grows and is deleted, moved or replaced meanwhile.
#include "engine/io/growing_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace growing_file_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr OutputKind kLog{
    "a log of this test",
    [](std::string_view beginning, std::string_view) { return beginning.starts_with("n\n"); }, Existing::Kept,
    true};

class GrowingFileTest : public TestFolder {
 protected:
  GrowingFile begun() { return GrowingFile(path("log"), kLog, "n\n1\n"); }
};

TEST_F(GrowingFileTest, Grows) {
  GrowingFile log = begun();
  EXPECT_EQ(log.append("2\n"), "");
  EXPECT_EQ(log.append("3\n"), "");
  EXPECT_EQ(contents("log"), "n\n1\n2\n3\n");
}

TEST_F(GrowingFileTest, DeletedItComesBackWhole) {
  GrowingFile log = begun();
  log.append("2\n");
  fs::remove(path("log"));
  EXPECT_THAT(log.append("3\n"), AllOf(HasSubstr(path("log")), HasSubstr("was deleted")));
  EXPECT_EQ(log.append("4\n"), "");  // said once
  EXPECT_EQ(contents("log"), "n\n1\n2\n3\n4\n");
}

TEST_F(GrowingFileTest, MovedAwayANewOneBegins) {
  GrowingFile log = begun();
  fs::rename(path("log"), path("log.1"));
  EXPECT_THAT(log.append("2\n"), HasSubstr("was moved away"));
  EXPECT_EQ(log.append("3\n"), "");
  EXPECT_EQ(contents("log.1"), "n\n1\n");
  EXPECT_EQ(contents("log"), "n\n2\n3\n");
}

TEST_F(GrowingFileTest, AnotherInItsPlaceGrowsIfItIsOneOfTheKind) {
  GrowingFile log = begun();
  write("new", "n\n9\n");
  fs::rename(path("new"), path("log"));
  EXPECT_THAT(log.append("2\n"), HasSubstr("was replaced"));
  EXPECT_EQ(contents("log"), "n\n9\n2\n");
  write("new", "a letter");
  fs::rename(path("new"), path("log"));
  EXPECT_THAT(error_of([&] { log.append("3\n"); }), HasSubstr("not a log of this test"));
  EXPECT_EQ(contents("log"), "a letter");
}

TEST_F(GrowingFileTest, WithoutItsFolderItSaysWhy) {
  fs::create_directory(path("in"));
  GrowingFile log(path("in/log"), kLog, "n\n");
  fs::remove_all(path("in"));
  EXPECT_THAT(error_of([&] { log.append("1\n"); }), AllOf(HasSubstr("in/log"), HasSubstr("name a folder")));
}

TEST_F(GrowingFileTest, AFullDiskLeavesNoHalfLine) {
  GrowingFile log = begun();
  const std::string why = [&] {
    const testing::FullDisk disk(1000);
    return error_of([&] { log.append(std::string(5000, 'x') + "\n"); });
  }();
  EXPECT_THAT(why, HasSubstr("cannot write " + path("log")));
  EXPECT_EQ(contents("log"), "n\n1\n");
}

}  // namespace growing_file_test
}  // namespace shardlens
