// Draws what the studio shows in each scene of a lesson, and hands all to the writers.
#include "app/studio/handout.h"

#include <fmt/format.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "app/studio/lesson_show.h"
#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/program/fault.h"
#include "ui/collective/collective_view.h"
#include "ui/frame/windows.h"
#include "ui/handout/handout.h"
#include "ui/lesson/lesson_view.h"
#include "ui/plan/sections.h"
#include "ui/product/product_view.h"
#include "ui/stage/plan_change.h"
#include "ui/stage/stage_light.h"

namespace shardlens {
namespace {

// A page of the studio is drawn about as wide as paper, with four pixels to a point.
constexpr PixelSize kPages{2200, 1500};
constexpr float kPageScale = 2;
constexpr int kTallestPage = 2600;  // of what is taller the first part is shown
constexpr int kFigureWidth = 680;   // of paper, without its margins
constexpr PixelSize kWholeStage{kFigureWidth, 760};

using ui::HandoutPicture;

/// The steps that a scene is about: what it selects, lights and calls out.
std::vector<StepId> steps_of(const Program& program, const SceneState& state) {
  std::vector<std::string> names = state.spotlight;
  if (!state.select.empty()) names.push_back(state.select);
  for (const Callout& callout : state.callouts) names.push_back(callout.at);
  std::vector<StepId> steps;
  for (const std::string& name : names)
    if (const StepId step = ui::stage::place_named(program, name).step; step >= 0) steps.push_back(step);
  return steps;
}

/// What has to be in the picture so that a question can be answered from it: one of these names at least.
using Needed = std::vector<std::string>;

/// What a scene's questions need of the Stage: a right answer that is pointed at, and every step that is put
/// in order.
std::vector<Needed> needed_by(const ShownQuestion& question, const RightAnswer& right) {
  const Question& asked = *question.question;
  const bool on_stage = asked.at == PointAt::Step || asked.at == PointAt::Tensor;
  if (asked.kind == QuestionKind::Point && on_stage) return {right.accepted};
  std::vector<Needed> each;
  if (asked.kind == QuestionKind::Order)
    for (const std::string& item : asked.items) each.push_back({item});
  return each;
}

/// Adds the nearest step of what is needed and is not yet between the first and the last of `steps`.
void add_needed(const Program& program, const std::vector<Needed>& needed, std::vector<StepId>& steps) {
  for (const Needed& names : needed) {
    const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
    StepId nearest = -1, least = std::numeric_limits<StepId>::max();
    for (const std::string& name : names) {
      const StepId step = ui::stage::place_named(program, name).step;
      if (step < 0) continue;
      const StepId away = std::max({0, *first - step, step - *last});
      if (away < least) std::tie(nearest, least) = std::pair{step, away};
    }
    if (nearest >= 0 && least > 0) steps.push_back(nearest);
  }
}

/// These steps and some beside them, in the same pass, so that a page shows no more than is spoken of.
std::optional<ui::StageStretch> stretch_of(const Program& program, const std::vector<StepId>& steps) {
  constexpr StepId kBeside = 3;
  if (steps.empty()) return {};
  const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
  ui::StageStretch stretch{*first, *last};
  const auto goes_on = [&](StepId from, StepId to) {
    return to >= 0 && to < static_cast<StepId>(program.steps.size()) &&
           program.step(from).phase == program.step(to).phase;
  };
  for (StepId i = 0; i < kBeside && goes_on(*first, stretch.first - 1); ++i) --stretch.first;
  for (StepId i = 0; i < kBeside && goes_on(*last, stretch.last + 1); ++i) ++stretch.last;
  return stretch;
}

/// Draws scenes in one theme after the other.
class PictureMaker {
 public:
  PictureMaker(LessonShow& lesson, bool has_dark) : lesson_(lesson), has_dark_(has_dark) {}

  void draw(const SceneState& state, std::vector<Needed> needed, ui::HandoutScene& scene) {
    needed_ = std::move(needed);
    scene.light = pictures(state, ui::ThemeName::Light);
    if (has_dark_) scene.dark = pictures(state, ui::ThemeName::Dark);
  }

 private:
  ui::ViewState& view() { return lesson_.studio().view(); }

  std::vector<HandoutPicture> pictures(const SceneState& state, ui::ThemeName theme) {
    view().theme = theme;
    view().asked_here() = {};  // a Timeline is a picture of its own, and nothing can be set on paper
    lesson_.shown().settle();
    view().of<ui::stage::ChangeView>().change = {};  // the scene before is another picture
    std::vector<HandoutPicture> all = page(state, theme);
    if (std::find(state.panels.begin(), state.panels.end(), "timeline") != state.panels.end()) {
      ui::FigureWish wish;
      wish.kind = ui::FigureKind::Timeline;
      wish.theme = theme;
      if (auto drawn = figure(wish)) all.push_back(*drawn);
    }
    return all;
  }

  std::vector<HandoutPicture> page(const SceneState& state, ui::ThemeName theme) {
    if (view().of<ui::CollectiveView>().open) {
      const ImVec2 size = ImGui::GetMainViewport()->Size;
      const ui::LessonRoom card = ui::lesson_room(view());
      return {part_of_screen({{card.left, card.above}, size})};
    }
    const ImRect whole = window(names_of(view().tab).window);
    if (view().tab == ui::Tab::Stage && !view().of<ui::ProductView>().open) {
      if (auto drawn = stage(state, theme)) return {*drawn};
    } else if (const ImGuiWindow* const below = stage_below()) {
      if (auto drawn = stage(state, theme))
        return {part_of_screen({whole.Min, {whole.Max.x, below->Pos.y}}), *drawn};
    }
    return {whole_page()};
  }

  /// The rows that the scene is about; all rows if it is about none.
  std::optional<ui::Figure> stage(const SceneState& state, ui::ThemeName theme) {
    const Program& program = lesson_.studio().snapshot().plan->program;
    ui::FigureWish wish;
    wish.theme = theme;
    std::vector<StepId> steps = steps_of(program, state);
    if (!steps.empty()) add_needed(program, needed_, steps);
    if (!state.fit) wish.only = stretch_of(program, steps);
    const bool all_layers = ui::is_whole_model(program) && view().open_section == ui::kWholeModel;
    if (!wish.only && !all_layers) wish.size = kWholeStage;
    return figure(wish);
  }

  /// The Stage that stands below the errors of a planted mistake; null: there is none.
  static const ImGuiWindow* stage_below() {
    for (const ImGuiWindow* one : ImGui::GetCurrentContext()->Windows)
      if (const std::string_view name = one->Name; one->WasActive &&
                                                   ui::is_within(*one, names_of(ui::Tab::BreakIt).window) &&
                                                   name.substr(name.rfind('/')).starts_with("/stage_"))
        return one;
    return nullptr;
  }

  /// Nothing if some of it is no vectors.
  std::optional<ui::Figure> figure(ui::FigureWish wish) {
    wish.width = kFigureWidth;
    wish.caption = false;
    ui::Figure drawn = lesson_.studio().draw_figure(wish);
    if (drawn.lost_vertices > 0) return {};
    return drawn;
  }

  static ImRect window(const char* name) {
    const ImGuiWindow* const found = ImGui::FindWindowByName(name);
    if (found == nullptr) throw run_error(fmt::format("the studio does not show {}", name));
    return found->InnerRect;
  }

  /// The page in front, with what a person would scroll to.
  HandoutPicture whole_page() {
    Platform& platform = lesson_.shown().platform();
    const PixelSize size = platform.framebuffer_size();
    const ImGuiWindow* const page = ImGui::FindWindowByName(names_of(view().tab).window);
    const int height = size.height + (page == nullptr ? 0 : static_cast<int>(std::ceil(page->ScrollMax.y)));
    if (height > size.height && height <= kTallestPage) {
      platform.resize({size.width, height});
      lesson_.shown().settle();
    }
    HandoutPicture picture = part_of_screen(window(names_of(view().tab).window));
    platform.resize(size);
    return picture;
  }

  /// A part of the studio's pixels, without what is empty below, and without a line that is cut there.
  HandoutPicture part_of_screen(const ImRect& part) {
    const Image screen = lesson_.shown().settled_picture();
    const auto left = static_cast<int>(part.Min.x), top = static_cast<int>(part.Min.y);
    const auto right = std::min(static_cast<int>(part.Max.x), screen.size.width);
    int bottom = std::min(static_cast<int>(part.Max.y), screen.size.height);
    const auto is_empty = [&](int y) {
      const std::uint8_t* const first = screen.pixel(left, y);
      for (int x = left; x < right; ++x)
        if (!std::equal(first, first + 3, screen.pixel(x, y))) return false;
      return true;
    };
    // Up to the nearest gap between lines, which is not far.
    constexpr int kGap = static_cast<int>(3 * kPageScale), kMargin = static_cast<int>(12 * kPageScale);
    int used = bottom, empty = 0;
    for (int y = bottom - 1; y > bottom - (bottom - top) / 3 && empty < kGap; --y) {
      empty = is_empty(y) ? empty + 1 : 0;
      if (empty == kGap) used = y;
    }
    while (used > top + 1 && is_empty(used - 1)) --used;
    bottom = std::min(bottom, used + kMargin);
    Image image{{right - left, bottom - top}, {}};
    for (int y = top; y < bottom; ++y)
      image.rgba.insert(image.rgba.end(), screen.pixel(left, y), screen.pixel(left, y) + 4 * (right - left));
    return image;
  }

  LessonShow& lesson_;
  const bool has_dark_;
  std::vector<Needed> needed_;  ///< by the questions of the scene that is drawn
};

std::string numbers_of(LessonShow& lesson, const SceneState& state) {
  const std::string numbers = ui::numbers_of(lesson.studio().snapshot());
  if (!state.mistake) return numbers;
  return fmt::format("With a planted mistake ({}): {}", to_string(*state.mistake), numbers);
}

}  // namespace

void write_handout(const Options& options) {
  ui::require_handout(options.handout);
  const OutputPlace place(options.handout.string(), ui::kVectorFile);
  Options pages = options;
  pages.scale = kPageScale;
  pages.theme = ui::ThemeName::Light;
  LessonShow lesson(pages, kPages);
  ui::Handout handout = ui::handout_of(lesson.lesson(), options.lesson_seed);
  PictureMaker maker(lesson, options.handout.extension() == ".html");
  for (size_t i = 0; i < lesson.lesson().scenes.size(); ++i) {
    const std::shared_ptr<const ShownScene> shown = lesson.show(i);
    const Scene& scene = *shown->scene;
    ui::HandoutScene out = ui::scene_of(*shown);
    std::vector<Needed> needed;
    for (const ShownQuestion& question : shown->questions)
      for (Needed& names : needed_by(question, lesson.answer(question.question->id)))
        needed.push_back(std::move(names));
    maker.draw(scene.state, std::move(needed), out);
    if (scene.state.view.empty() || scene.state.view == "stage")
      out.callouts.clear();  // the picture has them
    out.numbers = numbers_of(lesson, scene.state);
    for (const ShownQuestion& question : shown->questions)
      out.questions.push_back(ui::question_of(question, lesson.answer(question.question->id),
                                              lesson.studio().snapshot().plan->program));
    handout.scenes.push_back(std::move(out));
  }
  ui::write_handout(handout, lesson.shown().platform().fonts(), options.handout);
}

void write_slides(const Options& options) {
  const OutputFolder place(options.slides.string());
  require_writable((options.slides / "01.png").string(), kPicture);
  LessonShow lesson(in_class(options), options.size.value_or(kDefaultSize));
  const std::vector<Still> stills = stills_of(lesson.lesson());
  std::vector<std::filesystem::path> paths;
  for (const Still& still : stills)
    paths.push_back(options.slides / fmt::format("{:02}-{}{}.png", paths.size() + 1,
                                                 lesson.lesson().scenes[still.scene].id,
                                                 still.revealed ? "-answer" : ""));
  for (const std::filesystem::path& path : paths) require_replaceable(path.string(), kPicture);
  for (size_t i = 0; i < stills.size(); ++i) {
    show(lesson, stills[i]);
    const std::filesystem::path& path = paths[i];
    write_png(lesson.shown().settled_picture(), path);
    fmt::print("{}\n", std::filesystem::absolute(path).lexically_normal().string());
  }
}

}  // namespace shardlens
