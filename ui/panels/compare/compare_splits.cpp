// The page Side by side: one column for each split, drawn by the Stage's own functions. The same step is at
// the same height in all columns, so a step that only one split needs leaves a gap in the others. All columns
// scroll together and share one selection, which follows the keys that walk through the Program.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <memory>

#include "engine/config/splits.h"
#include "engine/runtime/measure/rounds.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/compare/compare_pages.h"
#include "ui/panels/compare/compare_rows.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/parts.h"
#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"
#include "ui/stage/scene.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastForCuts = 220;  ///< of a column whose head has room for a picture of the cuts
constexpr float kZoom = 0.62f;        // each row has room for two lines of text
constexpr const char* kNone = "none";

std::vector<Split> compared_splits(const CompareView& view, const Settings& settings) {
  std::vector<Split> splits;
  for (const std::string& name : view.splits) {
    if (!name.empty()) splits.push_back(name == kOwnSplit ? settings.split : named_split(name));
  }
  return splits;
}

/// After a change of the settings' split: if no column has it, the first column does from now on. Where there
/// is no column, the settings' split is one.
void follow_split(const Context& context) {
  CompareView& view = context.view.of<CompareView>();
  const Split& split = context.snapshot.settings.split;
  if (std::all_of(view.splits.begin(), view.splits.end(), [](const auto& name) { return name.empty(); }))
    view.splits[0] = kOwnSplit;
  if (split == view.followed_split) return;
  view.followed_split = split;
  const std::vector<Split> shown = compared_splits(view, context.snapshot.settings);
  if (std::find(shown.begin(), shown.end(), split) == shown.end()) view.splits[0] = kOwnSplit;
}

/// Asks for the plans of the shown splits, once for each choice. A new choice stops a running measurement;
/// opening the page for the first time does not.
void ask_splits(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  if (!snapshot.plan) return;  // other panels say why these settings are refused
  CompareView& view = context.view.of<CompareView>();
  comparison_command::PlanSplits wish{but_for_split(snapshot.settings),
                                      compared_splits(view, snapshot.settings)};
  if (view.asked == wish || (context.comparison.measuring && !view.asked)) return;
  view.asked = wish;
  if (context.comparison.measuring) context.send(comparison_command::Stop{});
  context.send(wish);
}

/// True if the trials are of the wanted settings and splits.
bool is_wanted(const SplitTrials& trials, const Context& context) {
  const std::vector<Split> splits =
      compared_splits(context.view.of<CompareView>(), context.snapshot.settings);
  return trials.settings == but_for_split(context.wanted()) &&
         std::equal(trials.trials.begin(), trials.trials.end(), splits.begin(), splits.end(),
                    [](const SplitTrial& trial, const Split& split) { return trial.split == split; });
}

/// Which part of a whole model is shown: that of the selected step, else the first layer.
int shown_section(const Context& context, const std::shared_ptr<const Plan>& plan) {
  if (!is_whole_model(plan->program)) return kWholeModel;
  const auto sections = static_cast<int>(sections_of(plan).list.size());
  const std::shared_ptr<const Plan> shown = shared_shown_plan(context.snapshot);
  const auto step = static_cast<size_t>(context.view.selected_step);
  if (shown == nullptr || context.view.selected_step < 0 || step >= shown->program.steps.size()) return 1;
  const int selected = sections_of(shown).of_step[step];
  return selected < sections ? selected : 1;
}

/// Returns the trial's own run, else the run that the studio shows if it has the same settings, else null.
std::shared_ptr<const Result> run_of(const SplitTrial& trial, const Snapshot& shown) {
  if (trial.result || !shown.result || !shown.result->plan) return trial.result;
  const bool same = shown.result->plan->program.settings == trial.plan->program.settings;
  return same ? shown.result : nullptr;
}

/// One split's Stage. It has its own Context, so that the Stage's functions draw this plan and not the
/// Session's.
struct Column {
  Column(const Context& page, const SplitTrial& trial, stage::Rect room)
      : view(page.view), context(page.of(snapshot, view)) {
    snapshot.settings = trial.plan->program.settings;
    snapshot.result = run_of(trial, page.snapshot);
    snapshot.plan = snapshot.result ? snapshot.result->plan : trial.plan;
    snapshot.state = RunState::Done;
    snapshot.position = trial.plan->program.steps.size();
    view.stage_zoom = kZoom;
    view.shown = snapshot.plan;
    select_nothing(view);
    view.open_section = shown_section(page, snapshot.plan);
    scene.emplace(stage::make_scene(context, snapshot.plan, snapshot.result, false, room, {0, 0},
                                    stage::Density::Compact));
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  Snapshot snapshot;
  ViewState view;
  Context context;
  std::optional<stage::Scene> scene;
};
using Columns = std::vector<std::unique_ptr<Column>>;

/// The lines of the plans that are shown together, computed once for them.
const std::vector<AlignedRow>& lines_of(const Columns& columns) {
  using PlansAndSections = std::vector<std::pair<std::shared_ptr<const Plan>, int>>;
  static Cache<PlansAndSections, std::vector<AlignedRow>, kPlansAtOnce> known;
  PlansAndSections shown;
  for (const auto& column : columns) shown.emplace_back(column->scene->plan, column->view.open_section);
  return known.of(shown, [&] {
    std::vector<std::vector<std::string>> keys;
    for (const auto& column : columns) {
      keys.emplace_back();
      for (const stage::Row& row : column->scene->rows)
        keys.back().push_back(key_of(column->scene->program(), row));
    }
    return aligned(keys);
  });
}

/// The place of each line.
struct Lines {
  const std::vector<AlignedRow>& list;
  std::vector<float> top, height;
  float total = 0;
  int selected = -1;
};

/// Brings the columns' rows to the lines' heights.
Lines place(const Context& context, Columns& columns) {
  Lines lines{lines_of(columns), {}, {}};
  const float gap = context.px(stage::kRowGap) * kZoom;
  for (const AlignedRow& line : lines.list) {
    float height = 0;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (line.rows[c] >= 0)
        height = std::max(height, columns[c]->scene->stack.height[static_cast<size_t>(line.rows[c])]);
    }
    if (line.key == context.view.of<CompareView>().row && lines.selected < 0)
      lines.selected = static_cast<int>(lines.top.size());
    lines.top.push_back(lines.total);
    lines.height.push_back(height);
    lines.total += height + gap;
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    Column& column = *columns[c];
    for (size_t i = 0; i < lines.list.size(); ++i) {
      if (lines.list[i].rows[c] < 0) continue;
      const auto row = static_cast<size_t>(lines.list[i].rows[c]);
      column.scene->stack.top[row] = lines.top[i];
      if (lines.list[i].key != context.view.of<CompareView>().row) continue;
      set_selection(column.view, column.scene->program(),
                    {column.scene->rows[row].step, column.scene->rows[row].tensor});
    }
    column.scene->stack.total = lines.total;
  }
  return lines;
}

/// Follows the selection of the other panels, so the keys that walk through the Program work here too.
void follow_selection(const Context& context) {
  CompareView& view = context.view.of<CompareView>();
  const Plan* plan = shown_plan(context.snapshot);
  const StepId step = context.view.selected_step;
  if (plan == nullptr || step < 0 || static_cast<size_t>(step) >= plan->program.steps.size()) return;
  std::string key = key_of(plan->program.step(step));
  if (step == view.followed && key == view.followed_key) return;
  view.followed = step;
  view.row = view.followed_key = std::move(key);
}

/// After a click on a line: selects its step in every panel, if the Program on the Stage has that step.
void select_line(const Context& context, const std::string& key, int layer) {
  CompareView& view = context.view.of<CompareView>();
  view.row = key;
  const Plan* plan = shown_plan(context.snapshot);
  if (plan == nullptr) return;
  for (const Step& step : plan->program.steps) {
    if (step.layer != layer || key_of(step) != key) continue;
    select_step(context.view, plan->program, step.id);
    view.followed = step.id;
    view.followed_key = key;
    return;
  }
}

/// How the four matrices are cut over `ranks`, as four small pictures.
float draw_cuts(const Context& context, const Split& split, int ranks, ImVec2 at, float size) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  float x = at.x;
  const Cut cuts[] = {split.attn_qkv, split.attn_proj, split.mlp_fc, split.mlp_proj};
  for (size_t i = 0; i < std::size(cuts); ++i) {
    const ImVec2 min{x, at.y}, max{x + size, at.y + size};
    if (cuts[i] == Cut::Replicated) {
      fill_rect(list, min, max, mixed(theme.card, theme.dim, 0.45f));
    } else {
      const auto edge = [&](int stripe) {
        return std::round(size * static_cast<float>(stripe) / static_cast<float>(ranks));
      };
      const float gap = size >= 3 * static_cast<float>(ranks) ? 1 : 0;
      for (int stripe = 0; stripe < ranks; ++stripe) {
        const float from = edge(stripe), to = edge(stripe + 1) - gap;
        const bool column = cuts[i] == Cut::Column;
        fill_rect(list, column ? ImVec2{min.x + from, min.y} : ImVec2{min.x, min.y + from},
                  column ? ImVec2{min.x + to, max.y} : ImVec2{max.x, min.y + to}, theme.ranks[stripe % 8]);
      }
    }
    x += size + context.px(i == 1 ? 8 : 3);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({x - at.x, size});
  if (ImGui::IsItemHovered())
    show_tooltip(
        context,
        fmt::format("attn.qkv {}, attn.proj {}, mlp.fc {}, mlp.proj {}, embedding by {}, norm {}, loss {}",
                    to_string(split.attn_qkv), to_string(split.attn_proj), to_string(split.mlp_fc),
                    to_string(split.mlp_proj), to_string(split.embedding), to_string(split.norm),
                    to_string(split.loss)));
  return x - at.x;
}

/// The choice of one of the compared splits; the third may be none.
void choose_split(const Context& context, size_t index, ImVec2 right_middle) {
  std::string& split = context.view.of<CompareView>().splits[index];
  std::vector<std::string> names = split_names();
  names.insert(names.begin(), kOwnSplit);
  if (index == 2) names.insert(names.begin(), kNone);
  std::string current = split.empty() ? "add a third" : split;
  if (split == kOwnSplit) current = "this one: " + context.snapshot.settings.split.name;
  const int chosen =
      option_at(context, fmt::format("split {}", index + 1).c_str(), right_middle, current, names);
  if (chosen < 0) return;
  const std::string& name = names[static_cast<size_t>(chosen)];
  split = name == kNone ? "" : name;
}

/// The columns' heads: which split, and its cuts.
void draw_heads(const Context& context, const std::vector<Split>& splits, int ranks,
                const std::vector<float>& lefts, float y, float width) {
  const float height = context.px(30);
  size_t column = 0;
  for (size_t i = 0; i < context.view.of<CompareView>().splits.size(); ++i) {
    if (context.view.of<CompareView>().splits[i].empty() || column == lefts.size()) continue;
    const float left = lefts[column];
    fill_rect(ImGui::GetWindowDrawList(), {left, y}, {left + width, y + height}, context.theme.panel,
              context.px(4));
    if (width >= context.px(kLeastForCuts))
      draw_cuts(context, splits[column], ranks, {left + context.px(8), y + context.px(6)}, context.px(18));
    choose_split(context, i, {left + width - context.px(8), y + height / 2});
    ++column;
  }
}

/// A thin strip in each rank's colour above its lane.
void draw_lane_marks(const stage::Scene& scene, ImDrawList* list, float y) {
  const Type type(scene.context);
  const float bar = std::max(2.0f, scene.px(3));
  for (const stage::Lane& lane : scene.lanes) {
    const float left = scene.lane_left(lane);
    const int count = lane.last - lane.first + 1;
    for (int i = 0; i < count; ++i) {
      const float share = lane.width / static_cast<float>(count);
      fill_rect(list, {left + share * static_cast<float>(i), y},
                {left + share * static_cast<float>(i + 1), y + bar},
                scene.context.theme.ranks[(lane.first + i) % 8]);
    }
    const std::string number = std::to_string(lane.first);
    const std::string words =
        lane.group() ? fmt::format("ranks {}–{}", lane.first, lane.last) : "rank " + number;
    const bool fits = text_width(type.note, words) <= lane.width;
    draw_text(list, {left + lane.width / 2, y + bar + scene.px(1)}, type.note,
              fits           ? words
              : lane.group() ? fmt::format("{}–{}", lane.first, lane.last)
                             : number,
              Align::Centre);
  }
}

/// Clicks and tooltips of every line, also of those out of view, so that tests and keys reach each of them.
void interact(const Context& context, const Columns& columns, const Lines& lines, stage::Rect view,
              float scroll) {
  for (size_t i = 0; i < lines.list.size(); ++i) {
    const AlignedRow& line = lines.list[i];
    bool selectable = false;
    int layer = -1;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (line.rows[c] < 0) continue;
      const StepId step = columns[c]->scene->rows[static_cast<size_t>(line.rows[c])].step;
      if (step < 0) continue;
      selectable = true;
      layer = columns[c]->scene->program().step(step).layer;
    }
    if (!selectable) continue;
    ImGui::SetCursorScreenPos({view.min.x, view.min.y + lines.top[i] - scroll});
    // A step that two splits do at different places has two lines: the second one gets an id of its own.
    const bool again = std::any_of(lines.list.begin(), lines.list.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const AlignedRow& before) { return before.key == line.key; });
    const std::string id = again ? fmt::format("##{} again {}", line.key, i) : "##" + line.key;
    if (click_area(id.c_str(), {view.width(), std::max(1.0f, lines.height[i])}))
      select_line(context, line.key, layer);
    if (context.view.covered() ||
        !ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort | ImGuiHoveredFlags_NoSharedDelay))
      continue;
    for (size_t c = 0; c < columns.size(); ++c) {
      const stage::Scene& scene = *columns[c]->scene;
      const float x = ImGui::GetMousePos().x;
      if (line.rows[c] >= 0 && x >= scene.view.min.x && x < scene.view.max.x)
        stage::step_tooltip(scene, scene.rows[static_cast<size_t>(line.rows[c])]);
    }
  }
}

void draw_columns(const Context& context, Columns& columns, stage::Rect room) {
  const Lines lines = place(context, columns);
  ImGui::SetNextWindowContentSize({0, lines.total + context.px(8)});
  ImGui::SetCursorScreenPos(room.min);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  const bool open =
      ImGui::BeginChild("rows", {room.width(), room.height()}, ImGuiChildFlags_None,
                        ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  if (open) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float scroll = ImGui::GetScrollY();
    for (auto& column : columns) {
      stage::Scene& scene = *column->scene;
      scene.scroll = {0, scroll};
      list->PushClipRect({scene.view.min.x, room.min.y}, {scene.view.max.x, room.max.y}, true);
      stage::draw_rows(scene, list);
      list->PopClipRect();
    }
    interact(context, columns, lines, room, scroll);
    CompareView& followed = context.view.of<CompareView>();
    const bool is_new = lines.selected >= 0 && followed.scrolled_to != followed.row;
    if (is_new) followed.scrolled_to = followed.row;
    if ((context.view.scroll_to_selection || is_new) && lines.selected >= 0) {
      const auto selected = static_cast<size_t>(lines.selected);
      const float margin = context.px(40), height = room.height();
      if (lines.top[selected] - margin < scroll)
        ImGui::SetScrollY(std::max(0.0f, lines.top[selected] - margin));
      if (lines.top[selected] + lines.height[selected] + margin > scroll + height)
        ImGui::SetScrollY(lines.top[selected] + lines.height[selected] + margin - height);
    }
  }
  ImGui::EndChild();
}

/// What the rounds say about the first split against each of the others.
std::string verdicts(const SplitTrials& trials) {
  std::string words;
  const SplitTrial& first = trials.trials.front();
  for (size_t i = 1; i < trials.trials.size(); ++i) {
    const SplitTrial& other = trials.trials[i];
    const std::string verdict = rounds_words(first.split.name, other.split.name,
                                             compare_rounds(first.round_seconds, other.round_seconds));
    if (!verdict.empty()) words += " " + as_sentence(verdict) + ".";
  }
  return words;
}

std::string explanation(const Context& context) {
  const SplitTrials* trials = context.comparison.trials.get();
  if (trials == nullptr)
    return context.comparison.measuring ? "Planning begins when the present measurement ends." : "Planning.";
  if (!is_wanted(*trials, context)) {
    const std::string stale = out_of_date(trials->settings, but_for_split(context.wanted()));
    return stale.empty() ? "Out of date: planning the present splits." : stale;
  }
  const Settings& s = trials->settings;
  // In front of a class the rows need the height: only what the rounds say.
  if (context.view.lecture)
    if (const std::string words = verdicts(*trials); !words.empty()) return words.substr(1);
  std::string text = "The same step is at the same height. ";
  if (s.block == Block::Model) text += "One part of the model is shown; the figures are for all of it. ";
  text += estimate_words(has_estimates(trials->trials), trials->predicted_on) + " ";
  const auto ran = std::count_if(trials->trials.begin(), trials->trials.end(),
                                 [](const SplitTrial& trial) { return trial.result != nullptr; });
  if (ran == 0) return text + "Nothing is measured yet.";
  const auto all = static_cast<std::ptrdiff_t>(trials->trials.size());
  const std::string which = ran == all ? "Measured" : fmt::format("{} of {} measured", ran, all);
  text += fmt::format("{} on {}, {} rounds of each in turn: the median, and the least to the greatest.",
                      which, trials->measured_on, kSplitRounds);
  return text + verdicts(*trials);
}

}  // namespace

void draw_side_by_side(const Context& context) {
  follow_split(context);
  ask_splits(context);
  follow_selection(context);
  const SplitTrials* trials = context.comparison.trials.get();
  if (trials != nullptr && trials->trials.empty()) trials = nullptr;  // planned for no column
  std::string refused = why_not_measured(context);
  if (trials == nullptr || !is_wanted(*trials, context)) refused = "Wait until the splits are planned";
  const CompareHead head =
      compare_head(context, "Side by side", explanation(context), "Measure them", refused);
  if (head.pressed) context.send(comparison_command::RunSplits{});
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (context.view.of<CompareView>().splits[2].empty() && !context.comparison.measuring)
    choose_split(context, 2, head.beside);
  ImGui::SetCursorScreenPos(at);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (trials == nullptr) return;
  float y = at.y;
  if (!context.comparison.message.empty())
    y += draw_wrapped(list, {at.x, y}, in(type.note, context.theme.text),
                      as_sentence(context.comparison.message), room.x) +
         context.px(4);

  const size_t count = trials->trials.size();
  const float bar = ImGui::GetStyle().ScrollbarSize, gap = context.px(16);
  const float width = (room.x - bar - gap * static_cast<float>(count - 1)) / static_cast<float>(count);
  std::vector<float> lefts;
  for (size_t i = 0; i < count; ++i) lefts.push_back(at.x + (width + gap) * static_cast<float>(i));
  std::vector<Split> splits;
  for (const SplitTrial& trial : trials->trials) splits.push_back(trial.split);
  draw_heads(context, splits, trials->settings.tp, lefts, y, width);
  y += context.px(34);

  const bool low = room.y < context.px(480);
  const float totals = draw_totals(context, *trials, lefts, 0, width, low, false);
  const float bottom = std::max(at.y + room.y - totals, y + context.px(140));
  const float marks = context.px(22);
  const stage::Rect rows{{at.x, y + marks}, {at.x + room.x, bottom - context.px(8)}};
  Columns columns;
  for (size_t i = 0; i < count; ++i) {
    const SplitTrial& trial = trials->trials[i];
    if (!trial.plan) continue;
    const stage::Rect view{{lefts[i], rows.min.y}, {lefts[i] + width, rows.max.y}};
    columns.push_back(std::make_unique<Column>(context, trial, view));
    draw_lane_marks(*columns.back()->scene, list, y);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!trials->trials[i].plan)
      draw_wrapped(list, {lefts[i] + context.px(8), rows.min.y}, type.note,
                   as_sentence(trials->trials[i].refused), width - context.px(16));
  }
  if (!columns.empty()) draw_columns(context, columns, rows);
  for (size_t i = 1; i < count; ++i)
    fill_rect(list, {lefts[i] - gap / 2, y}, {lefts[i] - gap / 2 + 1, bottom + totals}, context.theme.line);
  draw_totals(context, *trials, lefts, bottom, width, low, true);
  if (!is_wanted(*trials, context))
    fill_rect(list, {at.x, y}, {at.x + room.x, bottom + totals}, faded(context.theme.window, 0.55f));
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, bottom + totals - at.y});
}

}  // namespace shardlens::ui
