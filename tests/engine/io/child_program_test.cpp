// A program is started with the streams that it is given, or the cause is said.
#include "engine/io/child_program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/engine/few_files.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace child_program_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ChildProgramTest = TestFolder;

std::string ending_of(const std::string& script, ChildProgram::Streams streams = {}) {
  return ChildProgram({"sh", "-c", script}, streams, "no sh").wait();
}

TEST_F(ChildProgramTest, WritesToTheFilesThatItIsGiven) {
  const int out = open(path("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
            file = open(path("file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_EQ(ending_of("cat; echo out; echo file >/proc/self/fd/3", {.output = out, .file = file}), "");
  close(out);
  close(file);
  EXPECT_EQ(contents("out"), "out\n");
  EXPECT_EQ(contents("file"), "file\n");
}

TEST_F(ChildProgramTest, ItsEndIsExplained) {
  EXPECT_EQ(ending_of("exit 0"), "");
  EXPECT_EQ(ending_of("echo 'no such page' >&2; exit 1"), "no such page");
  EXPECT_EQ(ending_of("exit 1"), "it ended without saying why");
  EXPECT_THAT(ending_of("kill -TERM $$"), HasSubstr("signal 15 ended it: Terminated"));
  EXPECT_THAT(ending_of("kill -XFSZ $$"), HasSubstr("File too large"));
}

TEST_F(ChildProgramTest, AProgramThatIsNotThereIsNotOneThatCannotBeStarted) {
  EXPECT_EQ(error_of([] { ChildProgram({"no-such-program"}, {}, "install it"); }), "install it");
  write("program", "#!/bin/sh\n");
  EXPECT_THAT(error_of([&] { ChildProgram({path("program")}, {}, "install it"); }),
              AllOf(HasSubstr("cannot start the program"), HasSubstr("Permission denied")));
  const testing::FewFiles none(0);
  EXPECT_THAT(error_of([] { ending_of("exit 0"); }), HasSubstr("Too many open files"));
}

TEST_F(ChildProgramTest, ItEndsWithItsObject) {
  { ChildProgram forever({"sleep", "1000"}, {}, "no sleep"); }
  SUCCEED() << "the destructor would wait";
}

}  // namespace child_program_test
}  // namespace shardlens
