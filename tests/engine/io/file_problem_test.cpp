// Messages about files are made in one place. The sources are searched for others, because each of them shows
// a person the words of a library some day.
#include "engine/io/file_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <regex>
#include <set>

#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace file_problem_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using FileProblemTest = TestFolder;

TEST_F(FileProblemTest, NothingOfALibraryIsSaid) {
  write("file", "");
  try {
    fs::create_directories(path("file/in"));
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(message_of(error), AllOf(HasSubstr(path("file/in") + ": "),
                                         Not(HasSubstr("filesystem error")), Not(HasSubstr("create"))));
  }
  EXPECT_THAT(message_of(std::bad_alloc()), HasSubstr("not enough memory"));
  EXPECT_EQ(message_of(request_error("give another")), "give another");
  EXPECT_THAT(error_of([&] { make_folder(path("file")); }), HasSubstr("a file of that name exists"));
  make_folder(path("a/b"));
  make_folder("");
  EXPECT_TRUE(fs::is_directory(path("a/b")));
}

std::vector<std::string> found(const std::regex& wanted, const std::set<std::string>& allowed) {
  const fs::path root = fs::path(test_data_folder()).parent_path().parent_path();
  std::vector<std::string> places;
  for (const char* part : {"engine", "ui", "app"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / part)) {
      const std::string ending = entry.path().extension(), name = fs::relative(entry.path(), root);
      if ((ending != ".cpp" && ending != ".h" && ending != ".cu") || allowed.contains(name)) continue;
      std::ifstream file(entry.path());
      int number = 0;
      for (std::string line; std::getline(file, line);) {
        ++number;
        if (std::regex_search(line, wanted))
          places.push_back(name + ":" + std::to_string(number) + " " + line);
      }
    }
  return places;
}

TEST(SourcesTest, FoldersAreMadeInOnePlace) {
  EXPECT_THAT(found(std::regex("create_director"), {"engine/io/file_problem.cpp",
                                                    // a list of running recordings, which may be missing
                                                    "engine/record/live_link.cpp"}),
              IsEmpty());
}

// A filesystem_error, caught as a std::exception, names a function of the library.
TEST(SourcesTest, CaughtExceptionsAreShownInOurWords) {
  const fs::path root = fs::path(test_data_folder()).parent_path().parent_path();
  const std::regex caught("catch \\(const std::exception& (\\w+)\\)");
  std::vector<std::string> places;
  for (const char* part : {"engine/record", "engine/train", "engine/runtime/session",
                           "engine/runtime/recordings", "engine/lesson", "ui", "app"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / part)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      std::string name;
      for (std::string line; std::getline(file, line);) {
        std::smatch match;
        if (std::regex_search(line, match, std::regex("catch \\("))) name.clear();
        if (std::regex_search(line, match, caught)) name = match[1];
        if (!name.empty() && line.find(name + ".what()") != std::string::npos)
          places.push_back(entry.path().string() + ": " + line);
        if (!name.empty() && line.starts_with("}")) name.clear();
      }
    }
  EXPECT_THAT(places, IsEmpty()) << "use message_of()";
}

// Whatever writes a file of a person goes through AtomicFile, GrowingFile or Database, which ask what may be
// replaced.
TEST(SourcesTest, NothingWritesFilesAroundTheRule) {
  const std::regex writes(
      "ofstream|fopen\\(|\\bO_CREAT\\b|\\bO_TRUNC\\b|std::rename\\(|filesystem::rename|fs::rename|copy_file|"
      "\\bmkstemp|\\bcreat\\(");
  EXPECT_THAT(found(writes,
                    {
                        "engine/io/atomic_file.cpp", "engine/io/sole_writer.cpp",
                        "engine/io/sqlite.cpp",           // new files only
                        "engine/record/live_link.cpp",    // a recording's own link
                        "engine/runtime/resident.cpp",    // /proc
                        "engine/train/checkpoint.cpp",    // folders, of which it asks
                        "ui/remember/start_attempt.cpp",  // the mark of a start, beside the state
                    }),
              IsEmpty());
}

}  // namespace file_problem_test
}  // namespace shardlens
