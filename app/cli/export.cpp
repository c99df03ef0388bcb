// `export`: writes a recording as a trace or a table that other programs can open.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/cli/options.h"
#include "app/cli/verbs.h"
#include "app/command_line/outputs.h"
#include "engine/base/error.h"
#include "engine/record/chrome_trace.h"
#include "engine/record/gallery.h"
#include "engine/record/recording_csv.h"

namespace shardlens::cli {
namespace {

struct ExportOptions {
  std::string recording, out, table = "steps", passes;
};

struct Passes {
  int64_t first = 0, last = 0;  // [first, last)
};

// Parses "3" or "3-7"; an empty text means all passes. Passes count from 0.
Passes parse_passes(const std::string& text, int64_t count) {
  if (text.empty()) return {0, count};
  const auto number = [&](const std::string& part) -> int64_t {
    const bool digits =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
    if (!digits)
      throw request_error(fmt::format("--passes {}: give a number or a range such as 3-7, from 0", text));
    return std::stoll(part);
  };
  const size_t dash = text.find('-');
  const int64_t first = number(text.substr(0, dash));
  const int64_t last = dash == std::string::npos ? first : number(text.substr(dash + 1));
  if (first > last || last >= count)
    throw request_error(count == 0
                            ? "the recording has no passes"
                            : fmt::format("--passes {}: the recording has passes 0 to {}", text, count - 1));
  return {first, last + 1};
}

int run_export(const CLI::App& app, const ExportOptions& o) {
  const std::string kind = std::filesystem::path(o.out).extension();
  if (kind == ".json") refuse_without_effect(app, {"--table"}, "a trace has no tables, only FILE.csv has");
  if (kind != ".json" && kind != ".csv")
    throw request_error(fmt::format(
        "{}: the name must end with .json (a trace for Perfetto) or .csv (a table, see --table)", o.out));
  const Recording recording(recording_path(o.recording));
  const OutputPlace place(o.out, kind == ".json" ? kTraceFile : kRecordedTableFile);
  const Passes passes = parse_passes(o.passes, recording.totals().passes);
  if (kind == ".json") {
    write_chrome_trace(recording, passes.first, passes.last, o.out);
  } else {
    write_csv(recording, parse_recorded_table(o.table), passes.first, passes.last, o.out);
  }
  fmt::print("{}: {} of {}\n", o.out,
             kind == ".csv" && o.table == "memory" ? "memory"
             : passes.first == passes.last         ? "no passes, it has none yet"
                                           : fmt::format("passes {} to {}", passes.first, passes.last - 1),
             o.recording);
  return 0;
}

}  // namespace

Verb add_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  app.add_option("recording", options->recording, "FILE.shardlens, or gallery:NAME")->required();
  app.add_option("out", options->out, "FILE.json: a trace for Perfetto; FILE.csv: a table")->required();
  app.add_option("--table", options->table, "CSV: steps, collectives, memory or metrics")
      ->capture_default_str();
  app.add_option("--passes", options->passes, "A pass or a range such as 3-7, from 0; all if left out");
  add_overwrite(app);
  app.footer(
      "\nExamples\n  shardlens-cli export layer.shardlens trace.json           opens in ui.perfetto.dev\n"
      "  shardlens-cli export run.shardlens loss.csv --table metrics\n");
  return [options, &app] { return run_export(app, *options); };
}

}  // namespace shardlens::cli
