// What the programs contain of others is what THIRD_PARTY.md says, and --licences lists it.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/app/process.h"
#include "tests/data_folder.h"

namespace shardlens {
namespace licences_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

fs::path build_folder() {
  return fs::path(SHARDLENS_CLI_PROGRAM).parent_path();
}

/// The names in the last column of the tables.
std::set<std::string> listed_libraries() {
  std::set<std::string> names;
  std::istringstream lines(slurp((fs::path(test_data_folder()) / "../../THIRD_PARTY.md").string()));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || !line.ends_with(" |")) continue;
    const size_t cell = line.rfind('|', line.size() - 2);
    std::istringstream words(line.substr(cell + 1, line.size() - cell - 2));
    for (std::string word; words >> word;) names.insert(word);
  }
  return names;
}

/// "libpng16.so.16": libpng16
std::string name_of(const std::string& library) {
  return library.substr(0, library.find(".so"));
}

bool is_of_the_system(const std::string& name) {
  const std::set<std::string> system{"libc", "libm", "libdl", "libpthread", "librt", "libmvec", "libstdc++",
                                     "libgcc_s", "ld-linux-x86-64",
                                     // of the presets with sanitizers, which do not ship
                                     "libasan", "libubsan", "libtsan"};
  return system.contains(name);
}

TEST(Licences, EachProgramListsWhatItContains) {
  const Ended cli = run_cli("--licences");
  EXPECT_EQ(cli.code, 0) << cli.err;
  EXPECT_THAT(cli.out, HasSubstr("oneDNN"));
  EXPECT_THAT(cli.out, HasSubstr("Apache-2.0"));
  EXPECT_THAT(cli.out, Not(HasSubstr("Dear ImGui")));
  const Ended studio = run_program(SHARDLENS_PROGRAM, "--licences");
  EXPECT_EQ(studio.code, 0) << studio.err;
  EXPECT_THAT(studio.out, HasSubstr("oneDNN"));
  EXPECT_THAT(studio.out, HasSubstr("Dear ImGui"));
  EXPECT_THAT(studio.out, HasSubstr("ffmpeg"));
  for (const std::string& text : {cli.out, studio.out}) {
    EXPECT_THAT(text, Not(HasSubstr("Test Engine")));
    EXPECT_THAT(text, Not(HasSubstr("GoogleTest")));
  }
}

// Its licence is not free for everybody, so nothing of it may be passed on.
TEST(Licences, TheStudioHasNothingOfTheTestEngine) {
  const std::string program = slurp(SHARDLENS_PROGRAM);
  ASSERT_GT(program.size(), 1'000'000u);
  for (const char* words : {"imgui_te_engine.cpp", "ImGuiTestEngine_RunTest"})
    EXPECT_EQ(program.find(words), std::string::npos) << words;
}

TEST(Licences, EveryLibraryThatIsLinkedIsListed) {
  const std::set<std::string> listed = listed_libraries();
  ASSERT_GT(listed.size(), 15u);
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(build_folder())) {
    const std::string file = entry.path().filename().string();
    const bool is_ours = file == "shardlens" || file == "shardlens-cli" || file.starts_with("libshardlens_");
    if (!is_ours || file == "libshardlens_cuda.so") continue;  // which has the machine's GPU libraries
    std::istringstream needed(run_program("readelf -d " + entry.path().string(), "").out);
    for (std::string line; std::getline(needed, line);) {
      const size_t begin = line.find('[');
      if (line.find("(NEEDED)") == std::string::npos || begin == std::string::npos) continue;
      const std::string name = name_of(line.substr(begin + 1));
      ++seen;
      EXPECT_TRUE(is_of_the_system(name) || listed.contains(name))
          << name << ", which " << file << " needs, is not in THIRD_PARTY.md";
    }
  }
  EXPECT_GT(seen, 20);
}

}  // namespace licences_test
}  // namespace shardlens
