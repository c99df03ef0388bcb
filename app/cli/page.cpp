// `page`: puts a recording, a lesson or both into the studio's page, so that one file can be sent to anybody
// who has a browser; or makes a folder for a web host, of the page and all of the gallery. The page itself is
// built by app/web.sh and lies beside the program.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "app/cli/gzip.h"
#include "app/cli/options.h"
#include "app/cli/verbs.h"
#include "app/command_line/outputs.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/input_file.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/parse.h"
#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"

namespace shardlens::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "<title>Shardlens</title>", kEnd = "</body>\n</html>\n";

constexpr OutputKind kPageFile{
    "a page that Shardlens made", [](std::string_view beginning, std::string_view end) {
      return beginning.find(kMark) != std::string_view::npos &&
             (end.empty() ? beginning : end).ends_with(kEnd);  // of a small file the beginning is all
    }};

struct PageOptions {
  std::string recording, lesson, out, site, page;
};

/// Four bytes as five letters, which takes less room than base64: RFC 1924's letters, but a comma for <,
/// which HTML would take. page.html reads them (bytes_of()).
std::string base85(const std::string& bytes) {
  static constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 4) {
    const size_t count = std::min<size_t>(4, bytes.size() - at);
    uint32_t number = 0;
    for (size_t i = 0; i < 4; ++i)
      number = number << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0);
    char group[5];
    for (int i = 4; i >= 0; --i, number /= 85) group[i] = kLetters[number % 85];
    text.append(group, count + 1);
  }
  return text;
}

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
                     base85(gzip(InputFile(path).text())));
}

/// What the options put into the page.
std::string elements_of(const PageOptions& o) {
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
  return elements;
}

void write_page(const std::string& path, std::string page, const std::string& elements) {
  page.insert(page.size() - kEnd.size(), elements);
  write_file_atomically(path, kPageFile, page);
  fmt::print("{}: {}, opens in any browser of 2023 or newer\n", path,
             bytes_text(static_cast<double>(page.size())));
}

/// The page as index.html, and beside it the gallery's recordings, which the page fetches when they are
/// opened.
void write_site(const fs::path& folder, std::string page, const std::string& elements) {
  make_folder(folder / "gallery");
  std::string names;
  for (const GalleryPiece& piece : gallery()) {
    names += (names.empty() ? "" : " ") + piece.name;
    const std::string bytes = InputFile(gallery_file(piece.name)).text();
    const fs::path path = folder / "gallery" / (piece.name + ".shardlens");
    std::error_code none;
    if (fs::exists(path, none) && InputFile(path.string()).text() == bytes) continue;
    write_file_atomically(path.string(), kRecordingFile, bytes);
  }
  page.insert(page.find(kMark), fmt::format("<meta name=\"gallery\" content=\"{}\">\n", names));
  write_page((folder / "index.html").string(), std::move(page), elements);
  fmt::print("{}: beside it {} recordings of the gallery; put the whole folder on a web host\n",
             folder.string(), gallery().size());
}

int make_page(const PageOptions& o) {
  if (o.out.empty() == o.site.empty())
    throw request_error(
        "say what to make: --out FILE.html, one file to send; or --site FOLDER, for a web host");
  if (o.site.empty() && o.recording.empty() && o.lesson.empty())
    throw request_error(
        "name what the page is to open: --recording FILE.shardlens, --lesson FILE.md, or both");
  const std::string elements = elements_of(o);
  std::string page = built_page(o.page);
  if (o.site.empty())
    write_page(o.out, std::move(page), elements);
  else
    write_site(o.site, std::move(page), elements);
  return 0;
}

}  // namespace

Verb add_page(CLI::App& app) {
  auto options = std::make_shared<PageOptions>();
  app.add_option("--recording", options->recording, "FILE.shardlens, or gallery:NAME, that the page opens");
  app.add_option("--lesson", options->lesson, "FILE.md of a lesson that the page opens");
  app.add_option("--out", options->out, "FILE.html: the page as one file, to be sent");
  app.add_option(
      "--site", options->site,
      "FOLDER for a web host: index.html, and beside it the gallery, which the page can then open");
  app.add_option("--page", options->page, "The built page, if it is not beside this program");
  add_overwrite(app);
  app.footer(
      "\nExample\n  shardlens-cli page --recording run.shardlens --out run.html    send run.html to "
      "anybody\n"
      "  shardlens-cli page --site public                               put public/ on a web host\n");
  return [options] { return make_page(*options); };
}

}  // namespace shardlens::cli
