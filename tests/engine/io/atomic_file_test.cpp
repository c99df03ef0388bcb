// A file appears whole or not at all.
#include "engine/io/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace {

using ::testing::HasSubstr;
using AtomicFileTest = TestFolder;

TEST_F(AtomicFileTest, CommitPutsTheWholeFileInPlace) {
  write("x", "old");
  {
    AtomicFile file(path("x"));
    file.write("new ", 4);
    file.write("text", 4);
    EXPECT_EQ(contents("x"), "old");
    file.commit();
  }
  EXPECT_EQ(contents("x"), "new text");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(AtomicFileTest, WithoutCommitNothingIsLeft) {
  write("x", "old");
  {
    AtomicFile file(path("x"));
    file.write("new", 3);
    EXPECT_EQ(files_in_folder(), 2u);
  }
  EXPECT_EQ(contents("x"), "old");
  EXPECT_EQ(files_in_folder(), 1u);
}

// The limit on a file's size stands for a full disk: the system refuses the write in the middle.
TEST_F(AtomicFileTest, ARefusedWriteLeavesTheOldFile) {
  write("x", "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 100'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string message;
  ErrorKind kind = ErrorKind::Request;
  try {
    write_file_atomically(path("x"), std::string(1'000'000, 'x'));
  } catch (const Error& error) {
    message = error.what();
    kind = error.kind();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("cannot write " + path("x")));
  EXPECT_EQ(kind, ErrorKind::Run);
  EXPECT_EQ(contents("x"), "old");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(AtomicFileTest, ImpossiblePlacesAreRefused) {
  EXPECT_THAT(error_of([&] { AtomicFile file(path("absent/x")); }), HasSubstr("No such file or directory"));
  EXPECT_THAT(error_of([&] { AtomicFile file(folder_.string()); }), HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace shardlens
