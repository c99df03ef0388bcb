// The options about existing files, and the checks of outputs before a run.
#include "app/command_line/outputs.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"

namespace shardlens::cli {

void add_overwrite(CLI::App& app) {
  const auto flag = [&](const char* name, Existing wish, const char* help) {
    // Heard while the words are read, so that every check of a path knows it.
    return app
        .add_flag_callback(
            name, [wish] { set_existing_outputs(wish); }, help)
        ->trigger_on_parse()
        ->group("Files that exist");
  };
  CLI::Option* const replace = flag(
      "--overwrite", Existing::Replaced,
      "Replaces existing recordings, dumps, logs and checkpoints too. If left out, they are kept, and other "
      "outputs replace a file of their own kind. What this command reads, and files of other kinds, are "
      "never replaced");
  flag("--no-overwrite", Existing::Kept, "Replaces no file that exists")->excludes(replace);
}

CLI::Validator free_output(const OutputKind& kind) {
  return CLI::Validator(
      [kind](std::string& path) -> std::string {
        try {
          require_replaceable(path, kind);
        } catch (const Error& error) {
          return error.what();
        }
        return {};
      },
      "");
}

std::unique_ptr<OutputPlace> take_place(const std::string& option, const std::string& path,
                                        const OutputKind& kind, bool goes_on) {
  if (path.empty()) return nullptr;
  try {
    return std::make_unique<OutputPlace>(path, kind, goes_on);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", option, error.what()));
  }
}

void require_different_files(std::initializer_list<std::pair<const char*, std::string>> options) {
  const auto file_of = [](const std::string& path) {
    std::error_code unknown;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(target_of(path), unknown), unknown);
  };
  for (auto one = options.begin(); one != options.end(); ++one)
    for (auto other = std::next(one); other != options.end(); ++other)
      if (!one->second.empty() && !other->second.empty() && file_of(one->second) == file_of(other->second))
        throw request_error(
            fmt::format("{} and {} name the same file; give each its own file", one->first, other->first));
}

}  // namespace shardlens::cli
