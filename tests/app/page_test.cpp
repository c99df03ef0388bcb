// `page`: what it puts into a page is there again when a browser unpacks it, here Python in its place.
#include <gmock/gmock.h>

#include "tests/app/process.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace page_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kBuilt =
    "<!doctype html>\n<head>\n<title>Shardlens</title>\n</head>\n<body>\n</body>\n</html>\n";

/// The elements of a page, unpacked into the folder under their names.
constexpr const char* kUnpack = R"py(
import base64, gzip, pathlib, re, sys
page, folder = sys.argv[1:]
found = re.findall(r'<script type="text/plain" id="(\w+)" data-name="([^"]*)">([^<]*)</script>',
                   pathlib.Path(page).read_text())
for kind, name, letters in found:
    packed = base64.b85decode(letters.replace(",", "<"))
    pathlib.Path(folder, kind + "-" + name).write_bytes(gzip.decompress(packed))
)py";

class PageVerb : public TestFolder {
 protected:
  std::string built() const { return " --page " + write("built.html", kBuilt); }
  void unpack(const std::string& page) const {
    const Ended ended =
        run_program("python3", write("unpack.py", kUnpack) + " " + path(page) + " " + folder_.string());
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
};

TEST_F(PageVerb, PutsFilesIntoAPageAsTheyAre) {
  const std::string lesson = write("mine.md",
                                   "+++\ntitle = \"Mine\"\nasks = \"Why?\"\nminutes = 3\n+++\n## First\nA "
                                   "text with `</script>`.\n");
  const Ended ended = run_cli("page --recording gallery:late-rank --lesson " + lesson + " --out " +
                              path("out.html") + built());
  ASSERT_EQ(ended.code, 0) << ended.err;
  unpack("out.html");
  EXPECT_EQ(contents("lesson-mine.md"), contents("mine.md"));
  EXPECT_EQ(contents("recording-late-rank.shardlens").substr(0, 15), "SQLite format 3");
  EXPECT_EQ(contents("recording-late-rank.shardlens").size(),
            std::filesystem::file_size(std::filesystem::path(test_data_folder()) /
                                       "../../assets/gallery/late-rank.shardlens"));
  EXPECT_TRUE(contents("out.html").ends_with("</body>\n</html>\n"));
}

TEST_F(PageVerb, ASiteHasThePageAndTheGalleryBesideItAndIsMadeAgain) {
  for (int time = 0; time < 2; ++time) {
    const Ended ended = run_cli("page --site " + path("site") + built());
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  EXPECT_THAT(contents("site/index.html"), HasSubstr("<meta name=\"gallery\" content=\"layer-"));
  EXPECT_EQ(contents("site/gallery/loss-fused.shardlens").substr(0, 15), "SQLite format 3");
  write("site/gallery/loss-fused.shardlens", "SQLite format 3 of somebody else");
  const Ended kept = run_cli("page --site " + path("site") + built());
  EXPECT_EQ(kept.code, 2);
  EXPECT_THAT(kept.err, HasSubstr("loss-fused.shardlens"));
}

TEST_F(PageVerb, SaysWhatToMake) {
  for (const std::string words : {"page --recording gallery:late-rank", "page --out a.html --site b"}) {
    const Ended ended = run_cli(words + built());
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("--out"), HasSubstr("--site"))) << words;
  }
  EXPECT_THAT(run_cli("page --out a.html" + built()).err, HasSubstr("--recording"));
}

}  // namespace page_test
}  // namespace shardlens
