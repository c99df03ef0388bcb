// `page`: puts a recording, a lesson or both into the studio's page, so that one file can be sent to anybody
// who has a browser. The page itself is built by app/web.sh and lies beside the program.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "app/cli/options.h"
#include "app/cli/verbs.h"
#include "app/command_line/outputs.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/atomic_file.h"
#include "engine/io/base64.h"
#include "engine/io/input_file.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/parse.h"
#include "engine/record/gallery.h"
#include "engine/record/recording.h"

namespace shardlens::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "<title>Shardlens</title>", kEnd = "</body>\n</html>\n";

constexpr OutputKind kPageFile{
    "a page that Shardlens made", [](std::string_view beginning, std::string_view end) {
      return beginning.find(kMark) != std::string_view::npos && end.ends_with(kEnd);
    }};

struct PageOptions {
  std::string recording, lesson, out, page;
};

/// The page as it was built, without anything in it. Throws a request Error that says how to build it.
std::string built_page(const std::string& given) {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  fs::path path = given.empty() ? folder / "shardlens.html" : fs::path(given);
  if (given.empty() && !fs::exists(path, ignored)) path = folder / ".." / "lib" / "shardlens.html";
  if (!fs::exists(path, ignored))
    throw request_error(fmt::format("{} is not there: build the page with app/web.sh, or name it with --page",
                                    given.empty() ? (folder / "shardlens.html").string() : given));
  std::string text = InputFile(path.string()).text();
  if (text.find(kMark) == std::string::npos || !text.ends_with(kEnd))
    throw request_error(
        fmt::format("{} is not the studio's page, or a part of it is missing: build it again "
                    "with app/web.sh",
                    path.string()));
  return text;
}

/// A file as an element of the page, which is text and not run.
std::string element(const std::string& id, const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '.' && letter != '-') letter = '_';
  return fmt::format("<script type=\"text/plain\" id=\"{}\" data-name=\"{}\">{}</script>\n", id, name,
                     base64(InputFile(path).text()));
}

int make_page(const PageOptions& o) {
  if (o.recording.empty() && o.lesson.empty())
    throw request_error(
        "name what the page is to open: --recording FILE.shardlens, --lesson FILE.md, or both");
  std::string elements;
  if (!o.recording.empty()) {
    const std::string path = recording_path(o.recording);
    Recording{path};  // throws if the page could not open it either
    elements += element("recording", path);
  }
  if (!o.lesson.empty()) {
    if (fs::path(o.lesson).extension() != ".md")
      throw request_error(
          fmt::format("--lesson {}: give a lesson's file, which ends with .md; the built-in "
                      "lessons are in the page already (page.html?lesson=NAME)",
                      o.lesson));
    find_lesson(o.lesson);
    elements += element("lesson", o.lesson);
  }
  std::string page = built_page(o.page);
  page.insert(page.size() - kEnd.size(), elements);
  write_file_atomically(o.out, kPageFile, page);
  fmt::print("{}: {}, opens in any browser of 2023 or newer\n", o.out,
             bytes_text(static_cast<double>(page.size())));
  return 0;
}

}  // namespace

Verb add_page(CLI::App& app) {
  auto options = std::make_shared<PageOptions>();
  app.add_option("--recording", options->recording, "FILE.shardlens, or gallery:NAME, that the page opens");
  app.add_option("--lesson", options->lesson, "FILE.md of a lesson that the page opens");
  app.add_option("--out", options->out, "FILE.html")->required();
  app.add_option("--page", options->page, "The built page, if it is not beside this program");
  add_overwrite(app);
  app.footer(
      "\nExample\n  shardlens-cli page --recording run.shardlens --out run.html    send run.html to "
      "anybody\n");
  return [options] { return make_page(*options); };
}

}  // namespace shardlens::cli
