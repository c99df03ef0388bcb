#include "ui/panels/start/lessons.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/counted.h"
#include "ui/panels/start/cards.h"
#include "ui/panels/start/start_view.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

/// The name by which a lesson is opened and its progress is known; lesson_key() of it when it is open.
const std::string& key_of(const LessonEntry& lesson) {
  return lesson.path.empty() ? lesson.name : lesson.path;
}

const LessonProgress& progress_of(const Context& c, const LessonEntry& lesson) {
  static const LessonProgress none;
  const auto& known = c.view.of<LessonView>().progress;
  const auto found = known.find(key_of(lesson));
  return found != known.end() ? found->second : none;
}

/// The scene where a person goes on; the first one when all is done.
int next_scene_of(const LessonEntry& lesson, const LessonProgress& progress) {
  const bool goes_on = progress.scene < lesson.scenes && share_of(lesson, progress).done < 1;
  return goes_on ? progress.scene : 0;
}

void open(const Context& c, const LessonEntry& lesson) {
  const auto& view = c.view.of<LessonView>();
  if (view.open && view.last == key_of(lesson))
    show_scene(c, view.scene);  // it is open: its answers stay
  else
    open_lesson(c, key_of(lesson), next_scene_of(lesson, progress_of(c, lesson)));
}

/// The lesson that was open last, if something of it is left; null: none.
const LessonEntry* under_way(const Context& c, const std::vector<LessonEntry>& lessons) {
  const std::string& last = c.view.of<LessonView>().last;
  const auto found = std::find_if(lessons.begin(), lessons.end(), [&](const LessonEntry& lesson) {
    return lesson.problem.empty() && key_of(lesson) == last;
  });
  if (last.empty() || found == lessons.end()) return nullptr;
  const LessonShare share = share_of(*found, progress_of(c, *found));
  return share.begun() && share.done < 1 ? &*found : nullptr;
}

void draw_resume(const Context& c, const Type& type, const LessonEntry& lesson) {
  const LessonProgress& progress = progress_of(c, lesson);
  const int scene = next_scene_of(lesson, progress);
  const Card card{.id = "lesson:resume",
                  .icon = ICON_FA_PLAY,
                  .title = "Resume: " + lesson.title,
                  .words = fmt::format("Scene {} of {}: {}", scene + 1, lesson.scenes,
                                       lesson.scene_titles[static_cast<size_t>(scene)]),
                  .note = left_words(lesson, progress),
                  .done = share_of(lesson, progress).done};
  if (draw_cards(c, type, {card}, 1) >= 0) open(c, lesson);
}

Card card_of(const Context& c, const LessonEntry& lesson) {
  if (!lesson.problem.empty()) {
    // The file's name is enough: the head of the group names the folder.
    std::string words = lesson.problem;
    if (words.starts_with(lesson.path)) words.replace(0, lesson.path.size(), lesson.name + ".md");
    return {.id = "lesson:" + lesson.name,
            .icon = ICON_FA_EXCLAMATION_TRIANGLE,
            .title = lesson.name,
            .words = words,
            .note = "It cannot be opened until this is mended",
            .help = lesson.problem,
            .opens = false};
  }
  const LessonProgress& progress = progress_of(c, lesson);
  return {.id = "lesson:" + lesson.name,
          .icon = share_of(lesson, progress).done < 1 ? ICON_FA_BOOK : ICON_FA_CHECK,
          .title = lesson.title,
          .words = lesson.asks,
          .note = progress_words(lesson, progress),
          .done = share_of(lesson, progress).done};
}

/// Draws a group of lessons and opens the one that is clicked.
void draw_group(const Context& c, const Type& type, const std::vector<const LessonEntry*>& lessons) {
  std::vector<Card> cards;
  for (const LessonEntry* lesson : lessons) cards.push_back(card_of(c, *lesson));
  const int clicked = draw_cards(c, type, cards);
  if (clicked >= 0) open(c, *lessons[static_cast<size_t>(clicked)]);
}

}  // namespace

LessonShare share_of(const LessonEntry& lesson, const LessonProgress& progress) {
  LessonShare share;
  share.scenes_seen = static_cast<int>(std::count_if(progress.seen.begin(), progress.seen.end(),
                                                     [&](int scene) { return scene < lesson.scenes; }));
  share.questions_right = std::min(static_cast<int>(progress.right.size()), lesson.questions);
  share.done = static_cast<float>(share.scenes_seen + share.questions_right) /
               static_cast<float>(std::max(1, lesson.scenes + lesson.questions));
  return share;
}

std::string progress_words(const LessonEntry& lesson, const LessonProgress& progress) {
  const LessonShare share = share_of(lesson, progress);
  if (!share.begun())
    return fmt::format("{} min · {} · {}", lesson.minutes, counted(lesson.scenes, "scene"),
                       counted(lesson.questions, "question"));
  return fmt::format("{} min · {} of {} · {} of {} right", lesson.minutes, share.scenes_seen,
                     counted(lesson.scenes, "scene"), share.questions_right,
                     counted(lesson.questions, "question"));
}

std::string left_words(const LessonEntry& lesson, const LessonProgress& progress) {
  const LessonShare share = share_of(lesson, progress);
  const int scenes = lesson.scenes - share.scenes_seen, questions = lesson.questions - share.questions_right;
  const std::string asked = counted(questions, "question");
  if (scenes == 0) return fmt::format("{} left", asked);
  if (questions == 0) return fmt::format("{} left", counted(scenes, "scene"));
  return fmt::format("{} and {} left", counted(scenes, "scene"), asked);
}

void draw_lessons(const Context& c, const Type& type) {
  const LessonShelf::List read = c.view.of<StartView>().shelf->lessons();
  draw_section_head(c, type, "Lessons", "every number in them comes from a run made here");
  if (!read) {
    ImGui::TextUnformatted("Reading the lessons …");
    ImGui::Dummy({0, c.px(8)});
    return;
  }
  if (const LessonEntry* lesson = under_way(c, *read)) draw_resume(c, type, *lesson);
  std::vector<const LessonEntry*> built_in, own;
  for (const LessonEntry& lesson : *read) (lesson.path.empty() ? built_in : own).push_back(&lesson);
  draw_group(c, type, built_in);
  if (own.empty()) return;
  draw_section_head(c, type, "Your lessons", std::filesystem::path(own.front()->path).parent_path().string());
  draw_group(c, type, own);
}

}  // namespace shardlens::ui
