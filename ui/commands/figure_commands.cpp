// The commands that export the window as a picture, the Stage and the Timelines as figures, and the answers
// of a lesson. They write into the folder where the program was started, under a name that is free.
#include <fmt/format.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/json_text.h"
#include "engine/lesson/lesson_session.h"
#include "ui/commands/command_table.h"
#include "ui/figure/figure.h"
#include "ui/panels/timeline/timeline.h"
#include "ui/plan/shown_plan.h"
#include "ui/platform/exports.h"

namespace shardlens::ui {
namespace {

std::filesystem::path free_name(const std::string& what, const std::string& ending) {
  std::error_code gone;
  const std::filesystem::path folder = std::filesystem::current_path(gone);
  if (gone) throw run_error("the folder in which the studio was started no longer exists");
  for (int number = 1;; ++number) {
    std::filesystem::path path = folder / fmt::format("shardlens-{}-{}{}", what, number, ending);
    if (!std::filesystem::exists(path)) return path;
  }
}

/// Calls `write` with a free name, and shows a message if it throws.
void write_as(const Context& context, const std::string& what, const std::string& ending, const auto& write) {
  try {
    write(free_name(what, ending));
  } catch (const std::exception& error) {
    context.view.said = failed_export(error);
  }
}

void export_figure(const Context& context, FigureKind kind, const std::string& what,
                   const std::string& ending) {
  write_as(context, what, ending, [&](const std::filesystem::path& path) {
    write_figure(context, {.kind = kind, .theme = ThemeName::Light, .size = {}}, path);
    context.view.said = {"Written:", {path.string()}};
  });
}

/// The picture is written after the palette has closed: see Studio::write_picture().
void export_window(const Context& context) {
  write_as(context, "window", ".png",
           [&](const std::filesystem::path& path) { context.view.picture = path; });
}

bool has_answers(const Context& context) {
  return context.lesson.is_open() && !context.lesson.answered.empty();
}

/// As the command line marks them: shardlens-cli lesson NAME --answers FILE.
void export_answers(const Context& context) {
  const LessonSnapshot& lesson = context.lesson;
  nlohmann::ordered_json answers{{"lesson", lesson.lesson->name}};
  if (lesson.seed) answers["seed"] = *lesson.seed;
  answers["answers"] = lesson.answered;
  write_as(context, lesson.lesson->name + "-answers", ".json", [&](const std::filesystem::path& path) {
    write_file_atomically(path.string(), kOwnFile, json_text(answers, 2) + '\n');
    context.view.said = {"Written:", {path.string()}};
  });
}

}  // namespace

Said failed_export(const std::exception& error) {
  return {fmt::format("{}. {}", message_of(error), remedy_for_exports())};
}

void add_figure_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::View);
  add("export.png", "Export the window as PNG",
      fmt::format("The window, pixel by pixel; {}", where_exports_go()), {ImGuiMod_Ctrl | ImGuiKey_E},
      export_window);
  struct Kind {
    FigureKind kind;
    std::string what, shown;
  };
  for (const auto& [kind, what, shown] :
       {Kind{FigureKind::Stage, "stage", "Stage"}, Kind{FigureKind::Timeline, "timeline", "Timeline"},
        Kind{FigureKind::Recording, "recording", "whole recording"}}) {
    for (const std::string ending : {".svg", ".pdf"}) {
      const std::string format = ending == ".svg" ? "SVG" : "PDF";
      add(
          fmt::format("export.{}{}", what, ending), fmt::format("Export the {} as {}", shown, format),
          fmt::format("Vectors with text for slides and papers, in the light theme; {}", where_exports_go()),
          {}, [kind, what, ending](const Context& c) { export_figure(c, kind, what, ending); },
          [kind](const Context& c) {
            return kind == FigureKind::Recording ? shows_history(c) : shown_plan(c.snapshot) != nullptr;
          });
    }
  }
  add("export.answers", "Export the answers of the lesson",
      fmt::format("What you have answered, to be handed in: a file for shardlens-cli lesson --answers; {}",
                  where_exports_go()),
      {}, export_answers, has_answers);
}

}  // namespace shardlens::ui
