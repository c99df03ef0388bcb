// Files that cannot be read to their end, that never end or that nobody writes to, and texts that are none.
#include "engine/io/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <thread>

#include "engine/io/file_kind.h"
#include "engine/io/text_lines.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace input_file_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;  // a sanitizer needs more address space than any limit leaves
#else
constexpr bool kLimitsMemory = true;
#endif

// Its first page is not there, so reading it is an input/output error for any user. Its size is stated as 0.
constexpr const char* kUnreadable = "/proc/self/mem";

class InputFileTest : public TestFolder {
 protected:
  static std::vector<std::string> lines_of(const std::string& path) {
    TextLines lines(path);
    std::vector<std::string> all;
    for (std::string line; lines.next(line);) all.push_back(line);
    return all;
  }
};

template <class Action>
ErrorKind kind_of_error(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::Cancelled;
}

TEST_F(InputFileTest, AReadErrorIsNotTheEnd) {
  const std::string where = std::string("cannot read ") + kUnreadable + " at byte 0: Input/output error";
  EXPECT_THAT(error_of([] { InputFile(kUnreadable).text(); }), HasSubstr(where));
  EXPECT_THAT(error_of([] { TextLines lines(kUnreadable); }), HasSubstr(where));
  EXPECT_EQ(kind_of_error([] { TextLines lines(kUnreadable); }), ErrorKind::Run);
}

TEST_F(InputFileTest, AFileOfTheSystemIsReadThoughItStatesNoSize) {
  EXPECT_THAT(InputFile("/proc/version").text(), HasSubstr("Linux"));
}

TEST_F(InputFileTest, WhatNeverEndsOrIsNotWrittenIsNoFile) {
  std::filesystem::create_symlink("/dev/zero", path("zero"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* name : {"zero", "pipe"})
    EXPECT_THAT(error_of([&] { InputFile file(path(name)); }), HasSubstr("is not a regular file"));
  EXPECT_THAT(error_of([&] { InputFile file(path("zero"), InputFile::Takes::FilesAndPipes); }),
              HasSubstr("is not a regular file or a pipe"));
}

TEST_F(InputFileTest, LinesEndAtTheirLineFeedsAndAtTheEnd) {
  EXPECT_THAT(lines_of(write("x", "one\n\ntwo\r\nthree")), ElementsAre("one", "", "two\r", "three"));
  EXPECT_THAT(lines_of(write("x", "one\n")), ElementsAre("one"));
  EXPECT_TRUE(lines_of(write("x", "")).empty());
  // Across the edges of the buffer, with every length near them.
  std::string text;
  std::vector<std::string> expected;
  for (size_t i = 0; i < 400; ++i) {
    expected.emplace_back(i * 37 % 1100, static_cast<char>('a' + i % 26));
    text += expected.back() + "\n";
  }
  expected.emplace_back(200'000, 'z');
  TextLines lines(write("x", text + expected.back()));
  int64_t bytes = 0;
  std::string line;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(lines.next(line));
    ASSERT_EQ(line, expected[i]) << i;
    EXPECT_EQ(lines.number(), static_cast<int64_t>(i) + 1);
    bytes += static_cast<int64_t>(line.size()) + (i + 1 < expected.size() ? 1 : 0);
    EXPECT_EQ(lines.bytes(), bytes);
  }
  EXPECT_FALSE(lines.next(line));
}

TEST_F(InputFileTest, APipeIsReadToItsEnd) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe")) << "one\n" << std::flush << "two\n"; });
  TextLines lines(path("pipe"), InputFile::Takes::FilesAndPipes);
  std::string first, second, third;
  EXPECT_TRUE(lines.next(first) && lines.next(second) && !lines.next(third));
  writer.join();
  EXPECT_EQ(first + second, "onetwo");
}

// The end of the file is a hole of zeros: a line of 600 MB that takes no disk.
TEST_F(InputFileTest, ALineThatMemoryCannotHoldIsNamed) {
  if (!kLimitsMemory) GTEST_SKIP() << "the sanitizer needs the memory";
  const std::string file = write("long.txt", "short\n" + std::string(10'000, 'a'));
  std::filesystem::resize_file(file, 600'000'000);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{500'000'000, 500'000'000};
    setrlimit(RLIMIT_AS, &limit);
    const std::string message = error_of([&] { lines_of(file); });
    _exit(message.find("long.txt, line 2: there is no memory for this line") == std::string::npos ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(InputFileTest, AKindIsToldByItsFirstBytes) {
  EXPECT_EQ(kind_of_file(write("a.txt", "\x93NUMPY\x01")), FileKind::Npy);
  EXPECT_EQ(kind_of_file(write("a.txt", "SLTOKENS")), FileKind::Tokens);
  EXPECT_EQ(kind_of_file(write("a.txt", std::string("SQLite format 3\0", 16))), FileKind::Recording);
  EXPECT_EQ(kind_of_file(write("a.txt", std::string("\x10\0\0\0\0\0\0\0{\"a\"", 12))), FileKind::Safetensors);
  EXPECT_EQ(kind_of_file(write("a.npy", "a text")), FileKind::Unknown);
  EXPECT_EQ(kind_of_file(write("a.npy", "")), FileKind::Unknown);
  EXPECT_EQ(kind_of_file(path("absent.npy")), FileKind::Unknown);
  EXPECT_EQ(ending_of("a/b.JSONL"), ".jsonl");
  EXPECT_EQ(ending_of("a.b/c"), "");
}

TEST_F(InputFileTest, EveryReaderOfTextsRefusesWhatIsNone) {
  const std::pair<std::string, const char*> cases[] = {
      {std::string("ab\n\0cd", 6), "line 2 holds a byte of 0"},
      {"\xff\xfe\x41", "a text in UTF-16, not a text: give a text file in UTF-8; iconv"},
      {"\x1f\x8b\x08", "compressed, not a text"},
      {"PK\x03\x04", "a zip archive"},
      {"\x93NUMPY", "a NumPy array"},
      {"SLTOKENS", "a token file"},
  };
  for (const auto& [bytes, why] : cases) {
    const std::string file = write("x.txt", bytes);
    EXPECT_THAT(error_of([&] { TextLines lines(file); }), AllOf(HasSubstr("x.txt"), HasSubstr(why)));
    EXPECT_THAT(error_of([&] { read_text(file); }), AllOf(HasSubstr("x.txt"), HasSubstr(why)));
  }
  EXPECT_EQ(read_text(write("x.txt", "fine\n")), "fine\n");
}

}  // namespace input_file_test
}  // namespace shardlens
