// The tournament: ranks every legal split of the model on every T x D by predicted time, within a rank's
// memory. A click on a split sets it, and the Stage shows and runs it. After its calibration, this machine
// runs the best ones, and the page says whether the predicted order held.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/config/hardware_file.h"
#include "engine/runtime/measure/rounds.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/commands.h"
#include "ui/outbox.h"
#include "ui/panels/compare/compare_pages.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/parts.h"
#include "ui/panels/setup/setup.h"
#include "ui/settings/remedies.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"
#include "ui/widgets/sort_head.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {
namespace {

constexpr size_t kListed = 25;
constexpr std::array<int, 3> kDivisors{1, 2, 4};

/// The hardware that ranks them: the chosen one, else this machine if it was measured in this dtype, else an
/// H100.
const Hardware& hardware_of(const Context& context) {
  const std::string& chosen = context.view.of<CompareView>().hardware;
  if (!chosen.empty()) return find_hardware(chosen);
  const Hardware& here = find_hardware(kThisMachine);
  const bool known = here.is_calibrated() && here.flops(context.snapshot.settings.dtype) > 0;
  return known ? here : find_hardware("h100-80gb");
}

int ranks_of(const CompareView& view, const Settings& settings) {
  return view.ranks > 0 ? view.ranks : std::max(2, settings.tp * settings.dp);
}

TournamentWish wish_of(const Context& context) {
  const CompareView& view = context.view.of<CompareView>();
  const Hardware& hardware = hardware_of(context);
  TournamentWish wish;
  wish.ranks = ranks_of(view, context.snapshot.settings);
  wish.settings = with_block(but_for_split(context.snapshot.settings), Block::Model);
  wish.settings.tp = wish.settings.dp = 1;
  wish.settings.layer = 0;
  wish.settings.update = true;
  wish.settings.hardware = hardware.name;
  wish.limit_bytes = memory_of_a_rank(hardware, wish.ranks) / view.limit_divisor;
  wish.listed = kListed;
  return wish;
}

/// Asks for the shown tournament, once for each choice. A new choice stops a running measurement; opening the
/// page for the first time does not.
void ask(const Context& context, const TournamentWish& wish) {
  CompareView& view = context.view.of<CompareView>();
  if (view.asked_tournament == wish || (context.comparison.measuring && !view.asked_tournament)) return;
  view.asked_tournament = wish;
  if (context.comparison.measuring) context.send(comparison_command::Stop{});
  context.send(comparison_command::HoldTournament{wish});
}

/// The cuts of a split that differ from megatron's.
std::string against_megatron(const Split& split) {
  const Split usual;
  std::vector<std::string> parts;
  const auto part = [&](const char* what, const auto& cut, const auto& usual_cut) {
    if (cut != usual_cut) parts.push_back(fmt::format("{} {}", what, to_string(cut)));
  };
  part("qkv", split.attn_qkv, usual.attn_qkv);
  part("attn.proj", split.attn_proj, usual.attn_proj);
  part("fc", split.mlp_fc, usual.mlp_fc);
  part("mlp.proj", split.mlp_proj, usual.mlp_proj);
  part("embedding", split.embedding, usual.embedding);
  part("norm", split.norm, usual.norm);
  part("loss", split.loss, usual.loss);
  return parts.empty() ? "megatron" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string cuts_of(const Entrant& entrant) {
  return entrant.tp == 1 ? "one rank per replica: nothing to cut" : against_megatron(entrant.split);
}

/// Decimal, as devices are sold: an H100's 80 GB are 80 GB here too.
std::string gigabytes(int64_t bytes) {
  return decimal_bytes(static_cast<double>(bytes));
}

void take_over(const Context& context, const Entrant& entrant) {
  Settings settings = settings_of(context.wanted(), entrant);
  settings.layer = 0;
  settings.operands = Operands::Normal;
  settings.split.name = named_by_its_cuts(settings.split).name;
  context.want(settings);
  show_tab(context, Tab::Stage);
}

/// Draws the choices of hardware, T x D and memory. Returns the height it took.
float draw_choices(const Context& context, const TournamentWish& wish, ImVec2 at, float width) {
  const Type type(context);
  CompareView& view = context.view.of<CompareView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Hardware& hardware = hardware_of(context);
  const float height = choice_row_height(context), label = context.px(76);
  const auto middle = [&](float y) { return y + (height - type.note.size) / 2; };

  std::vector<int> ranks{2, 4, 8, 16, 32, 64};
  if (std::find(ranks.begin(), ranks.end(), wish.ranks) == ranks.end()) {
    ranks.push_back(wish.ranks);
    std::sort(ranks.begin(), ranks.end());
  }
  std::vector<std::string> names;
  for (const int count : ranks) names.push_back(std::to_string(count));
  draw_text(list, {at.x, middle(at.y)}, type.note, "T × D ranks");
  const int chosen_ranks =
      choice_row(context, "ranks", {at.x + label, at.y}, names,
                 static_cast<int>(std::find(ranks.begin(), ranks.end(), wish.ranks) - ranks.begin()));
  if (chosen_ranks >= 0) view.ranks = ranks[static_cast<size_t>(chosen_ranks)];

  const int64_t memory = memory_of_a_rank(hardware, wish.ranks);
  std::vector<std::string> limits;
  for (const int divisor : kDivisors) limits.push_back(gigabytes(memory / divisor));
  const float ranks_width = choice_row_width(context, names),
              limits_width = choice_row_width(context, limits);
  const float words = text_width(type.note, "a rank at most");
  const float one_line = label + ranks_width + context.px(20) + words + context.px(10) + limits_width;
  const bool wraps = one_line > width;
  const float limit_y = wraps ? at.y + height + context.px(6) : at.y;
  const float limit_x = wraps ? at.x : at.x + label + ranks_width + context.px(20);
  draw_text(list, {limit_x, middle(limit_y)}, type.note, "a rank at most");
  const int chosen_limit =
      choice_row(context, "limit", {wraps ? at.x + label : limit_x + words + context.px(10), limit_y}, limits,
                 static_cast<int>(std::find(kDivisors.begin(), kDivisors.end(), view.limit_divisor) -
                                  kDivisors.begin()));
  if (chosen_limit >= 0) view.limit_divisor = kDivisors[static_cast<size_t>(chosen_limit)];

  // The hardware gets a line of its own if the first is full.
  std::vector<std::string> titles;
  for (const Hardware& preset : hardware_presets()) titles.push_back(preset.title);
  const float machine = text_width(type.body, hardware.title) + text_width(type.note, "on") + context.px(60);
  const bool beside = one_line + machine < width;
  const bool beside_limits = wraps && label + limits_width + machine - context.px(20) <= width;
  const float machine_y = beside ? at.y : limit_y + (beside_limits ? 0 : height + context.px(6));
  const ImVec2 right_middle{at.x + width, machine_y + height / 2};
  const int chosen = option_at(context, "hardware", right_middle, hardware.title, titles);
  if (chosen >= 0) view.hardware = hardware_presets()[static_cast<size_t>(chosen)].name;
  return machine_y + height - at.y;
}

struct TournamentColumns {
  float place, degrees, cuts, time, share, memory, measured;  ///< cuts: left edge; the others right edges
  float bar, bar_width;
  float cuts_width;
  bool cuts_below;  ///< the columns are narrow: the cuts get a line of their own below the figures
};

TournamentColumns columns_of(const Context& context, ImVec2 at, float width, bool runs) {
  TournamentColumns c{};
  float right = at.x + width - context.px(8);
  const auto take = [&](float measure) {
    const float edge = right;
    right -= context.px(measure);
    return edge;
  };
  if (runs) c.measured = take(140);
  c.memory = take(84);
  c.share = take(64);
  c.time = take(80);
  const bool bars = width > context.px(860);
  c.bar_width = bars ? context.px(150) : 0;
  c.bar = right - c.bar_width;
  if (bars) right -= c.bar_width + context.px(16);
  c.place = at.x + context.px(34);
  c.degrees = c.place + context.px(60);
  c.cuts = c.degrees + context.px(20);
  c.cuts_width = (bars ? c.bar : c.time - context.px(84)) - c.cuts - context.px(8);
  c.cuts_below = c.cuts_width < context.px(200);
  if (c.cuts_below) {
    c.cuts = at.x + context.px(16);
    c.cuts_width = width - context.px(24);
  }
  return c;
}

double communication(const Entrant& entrant) {
  const double total = entrant.sum.seconds();
  return total > 0 ? (entrant.sum.tp_seconds + entrant.sum.dp_seconds) / total : 0;
}

/// The place, counted from 1; empty if the hardware states no speed, because then there is no order.
std::string place_text(const HeldTournament& held, size_t place) {
  return held.has_times ? std::to_string(place + 1) : std::string();
}

/// Draws one entrant's row; its line of figures is `row` high. `run`: the time measured here, or null.
void draw_entrant(const Context& context, const HeldTournament& held, size_t place, const TimeComparison* run,
                  const TournamentColumns& c, float y, float row, double most) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Entrant& entrant = held.tournament.entrants[place];
  const float mono = y + (row - type.mono.size) / 2;
  draw_text(list, {c.place, mono}, in(type.mono, theme.dim), place_text(held, place), Align::Right);
  draw_text(list, {c.degrees, mono}, type.mono, fmt::format("{} × {}", entrant.tp, entrant.dp), Align::Right);
  const float cuts = wrapped_height(type.body, cuts_of(entrant), c.cuts_width);
  const float cuts_y = c.cuts_below ? y + row - context.px(2) : std::round(y + (row - cuts) / 2);
  draw_wrapped(list, {c.cuts, cuts_y}, type.body, cuts_of(entrant), c.cuts_width);
  if (held.has_times) {
    draw_text(list, {c.time, mono}, type.mono, format_seconds(entrant.seconds), Align::Right);
    draw_text(list, {c.share, mono}, in(type.mono, theme.communication),
              format_percent(communication(entrant)), Align::Right);
    if (c.bar_width > 0 && most > 0) {
      const auto length = [&](double seconds) { return c.bar_width * static_cast<float>(seconds / most); };
      const float middle = y + row / 2, top = middle - context.px(6), bottom = middle + context.px(6);
      const float compute = length(entrant.sum.compute_seconds + entrant.sum.update_seconds);
      const float end = compute + length(entrant.sum.tp_seconds + entrant.sum.dp_seconds);
      fill_rect(list, {c.bar, top}, {c.bar + compute, bottom}, theme.forward);
      fill_rect(list, {c.bar + compute, top}, {c.bar + end, bottom}, theme.communication);
    }
  }
  if (entrant.memory_bytes > 0) {
    draw_text(list, {c.memory, mono}, type.mono, gigabytes(entrant.memory_bytes), Align::Right);
  } else {
    draw_text(list, {c.memory, mono}, in(type.mono, theme.dim), "≥ " + gigabytes(entrant.state_bytes),
              Align::Right);
  }
  if (run != nullptr)
    draw_text(list, {c.measured, mono}, type.mono,
              fmt::format("{} ({:+.0f} %)", format_seconds(run->measured_seconds), 100 * run->error()),
              Align::Right);
}

/// What the tournament's list can be sorted by.
enum class EntrantColumn { Place, Degree, Cuts, Time, Communication, Memory };

int64_t memory_of(const Entrant& entrant) {
  return entrant.memory_bytes > 0 ? entrant.memory_bytes : entrant.state_bytes;
}

/// Sorts the places by the chosen column; without one, they stay as they are ranked.
void sort_places(const Tournament& tournament, const SortOrder& order, std::vector<size_t>& places) {
  if (order.column < 0) return;
  const auto before = [&](size_t i, size_t j) {
    const Entrant &x = tournament.entrants[i], &y = tournament.entrants[j];
    switch (static_cast<EntrantColumn>(order.column)) {
      case EntrantColumn::Place:
        return i < j;
      case EntrantColumn::Degree:
        return x.tp < y.tp;
      case EntrantColumn::Cuts:
        return cuts_of(x) < cuts_of(y);
      case EntrantColumn::Time:
        return x.seconds < y.seconds;
      case EntrantColumn::Communication:
        return communication(x) < communication(y);
      case EntrantColumn::Memory:
        return memory_of(x) < memory_of(y);
    }
    return false;
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t i, size_t j) { return order.descending ? before(j, i) : before(i, j); });
}

/// The listed places, and below them megatron's if it is not among them.
std::vector<size_t> listed_places(const HeldTournament& held, const SortOrder& order) {
  std::vector<size_t> places = held.tournament.listed;
  if (held.megatron < held.tournament.entrants.size() &&
      std::find(places.begin(), places.end(), held.megatron) == places.end())
    places.push_back(held.megatron);
  sort_places(held.tournament, order, places);
  return places;
}

/// The time of an entrant, measured here; null: it was not run.
const TimeComparison* run_of(const HeldTournament& held, size_t place) {
  const std::vector<size_t>& listed = held.tournament.listed;
  const auto at = static_cast<size_t>(std::find(listed.begin(), listed.end(), place) - listed.begin());
  return at < held.runs.size() ? &held.runs[at] : nullptr;
}

TextTable copied(const HeldTournament& held, const SortOrder& order) {
  TextTable table{{{"place", Align::Right},
                   {"T × D"},
                   {"cuts that differ from megatron"},
                   {"step, estimated", Align::Right},
                   {"communication, estimated", Align::Right},
                   {"memory per rank, planned", Align::Right},
                   {"step, measured", Align::Right}},
                  {}};
  for (const size_t place : listed_places(held, order)) {
    const Entrant& entrant = held.tournament.entrants[place];
    const TimeComparison* run = run_of(held, place);
    table.rows.push_back(
        {place_text(held, place), fmt::format("{} × {}", entrant.tp, entrant.dp), cuts_of(entrant),
         held.has_times ? format_seconds(entrant.seconds) : "",
         held.has_times ? format_percent(communication(entrant)) : "",
         entrant.memory_bytes > 0 ? gigabytes(entrant.memory_bytes) : "≥ " + gigabytes(entrant.state_bytes),
         run != nullptr ? format_seconds(run->measured_seconds) : ""});
  }
  return table;
}

/// The list. Returns the height it took.
float draw_list(const Context& context, const HeldTournament& held, ImVec2 at, float width) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Tournament& tournament = held.tournament;
  const TournamentColumns c = columns_of(context, at, width, !held.runs.empty());
  float y = at.y;
  SortOrder& order = context.view.of<CompareView>().order;
  const auto head = [&](EntrantColumn column, float x, const char* words, Align align, float room) {
    sort_head(context, {static_cast<int>(column), words, align, false, nullptr}, {x, y - context.px(3)}, room,
              order);
  };
  head(EntrantColumn::Place, c.place, "place", Align::Right, c.place - at.x);
  head(EntrantColumn::Degree, c.degrees, "T × D", Align::Right, context.px(54));
  if (!c.cuts_below)
    head(EntrantColumn::Cuts, c.cuts, "cuts that differ from megatron", Align::Left, c.cuts_width);
  if (c.bar_width > 0) draw_text(list, {c.bar, y}, type.note, "computes, communicates");
  head(EntrantColumn::Time, c.time, "step, est.", Align::Right, context.px(78));
  head(EntrantColumn::Communication, c.share, "comm.", Align::Right, context.px(60));
  head(EntrantColumn::Memory, c.memory, "memory", Align::Right, context.px(80));
  if (!held.runs.empty()) draw_text(list, {c.measured, y}, type.note, "measured (est. is)", Align::Right);
  y += context.px(20);
  rule(context, {at.x, y}, width);
  y += context.px(4);

  const std::vector<size_t> places = listed_places(held, order);
  const bool megatron_below = order.column < 0 && places.size() > tournament.listed.size();
  double most = 0;
  for (const size_t place : places) most = std::max(most, tournament.entrants[place].seconds);
  ImGui::PushID("entrants");
  for (size_t i = 0; i < places.size(); ++i) {
    const Entrant& entrant = tournament.entrants[places[i]];
    if (megatron_below && i + 1 == places.size()) {
      rule(context, {at.x, y + context.px(2)}, width);
      y += context.px(5);
    }
    const Settings now = settings_of(context.snapshot.settings, entrant);
    Split shown = context.snapshot.settings.split;
    shown.name = entrant.split.name;
    const bool is_it = context.snapshot.settings.block == Block::Model &&
                       now.tp == context.snapshot.settings.tp && now.dp == context.snapshot.settings.dp &&
                       shown == entrant.split;
    // The row is as high as its cuts, which take as many lines as they need.
    const float cuts = wrapped_height(type.body, cuts_of(entrant), c.cuts_width) + context.px(10);
    const float figures = c.cuts_below ? context.px(28) : std::max(context.px(28), cuts);
    const float row = c.cuts_below ? figures + cuts : figures;
    ImGui::SetCursorScreenPos({at.x, y});
    if (click_area(fmt::format("place {}", places[i] + 1).c_str(), {width, row})) take_over(context, entrant);
    const bool hovered = ImGui::IsItemHovered();
    if (is_it || hovered)
      fill_rect(list, {at.x, y}, {at.x + width, y + row}, is_it ? faded(theme.forward, 0.16f) : theme.card,
                context.px(4));
    if (hovered)
      show_tooltip(context,
                   words_of(entrant.split) +
                       "\nClick to use this split: the Stage shows it, and runs it if this machine can");
    draw_entrant(context, held, places[i], run_of(held, places[i]), c, y, figures, most);
    y += row;
  }
  ImGui::PopID();
  return y - at.y;
}

std::string explanation(const Context& context, const HeldTournament* held, bool current) {
  if (held == nullptr)
    return context.comparison.measuring ? "Every legal split is ranked when the present measurement ends."
                                        : "Ranking every legal split.";
  if (!current) return "Out of date: ranking every split for the present settings.";
  if (!held->refused.empty()) return as_sentence(held->refused);
  const Tournament& t = held->tournament;
  std::string text = fmt::format(
      "A training step of {} with AdamW, {}: {} plans of {} small Programs ranked in {} (measured). ",
      held->wish.settings.model.title, to_string(held->wish.settings.dtype),
      grouped_text(static_cast<int64_t>(t.entrants.size())), t.programs, format_seconds(held->seconds));
  text += estimate_words(held->has_times, held->predicted_on) +
          (held->has_times ? " Memory is planned. " : " So there is no order. ");
  if (!t.listed.empty() && t.listed.size() < t.entrants.size())
    text += fmt::format("The first {} are listed. ", t.listed.size());
  if (t.listed.empty())
    text += fmt::format("None fits into {} per rank.", gigabytes(t.limit_bytes));
  else if (t.too_large > 0)
    text += fmt::format("{} faster ones exceed {} per rank. ",
                        grouped_text(static_cast<int64_t>(t.too_large)), gigabytes(t.limit_bytes));
  if (!held->can_run && held->wish.settings.hardware != kThisMachine && !t.listed.empty())
    text += "To run the best ones, choose this machine as hardware.";
  return text;
}

/// Says whether the runs came in the predicted order.
std::string verdict(const HeldTournament& held) {
  if (held.runs.size() < 2) return {};
  std::vector<double> seconds;
  for (const TimeComparison& run : held.runs) seconds.push_back(run.measured_seconds);
  const PairOrder order = order_of(seconds);
  int noise = 0;  // pairs of which neither was faster in every round
  for (size_t i = 0; i < held.round_seconds.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      noise += compare_rounds(held.round_seconds[i], held.round_seconds[j]).within_noise();
  const std::string doubt = noise > 0 ? fmt::format("; {} of them differ within the noise", noise) : "";
  return fmt::format(
      "{} of {} pairs came in the predicted order{}{}. Measured on {} in turn, the fastest of {} rounds.",
      order.agree, order.pairs, order.agree == order.pairs ? ": it held" : "", doubt,
      held.runs.front().measured_on, kSplitRounds);
}

}  // namespace

void draw_tournament(const Context& context) {
  const TournamentWish wish = wish_of(context);
  ask(context, wish);
  const HeldTournament* held = context.comparison.tournament.get();
  std::string refused = why_not_measured(context);
  if (held == nullptr || !held->refused.empty() || held->wish != wish)
    refused = "Wait until the splits are ranked";
  else if (!held->can_run && wish.settings.hardware != kThisMachine)
    refused = "Only this machine can run them: choose it as hardware, and calibrate it";
  const bool current = held != nullptr && held->wish == wish;
  // Splits that run here are ranked by this machine's own speed, so the machine must be calibrated first.
  const bool calibrates = current && !held->can_run && wish.settings.hardware == kThisMachine;
  const std::string label = context.scaling.measures()
                                ? fmt::format("{} ({})", as_sentence(context.scaling.activity),
                                              format_percent(context.scaling.share))
                            : calibrates ? "Calibrate this machine"
                                         : "Run the top five";
  if (compare_head(context, "Tournament of splits", explanation(context, held, current), label, refused)
          .pressed) {
    if (calibrates)
      find_command("scaling.calibrate").run(context);
    else
      context.send(comparison_command::RunTop{});
  }
  const Type type(context);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  float y = at.y + context.px(2);
  y += draw_choices(context, wish, {at.x, y}, width) + context.px(10);
  for (const std::string& words :
       {as_sentence(context.comparison.message), current ? verdict(*held) : std::string()}) {
    if (!words.empty())
      y += draw_wrapped(ImGui::GetWindowDrawList(), {at.x, y}, in(type.body, context.theme.text), words,
                        width) +
           context.px(6);
  }
  if (held != nullptr && held->refused.empty()) {
    const float list_top = y;
    y += draw_list(context, *held, {at.x, y}, width);
    copyable_table("tournament", {at.x, list_top}, {at.x + width, y},
                   [&] { return copied(*held, context.view.of<CompareView>().order); });
    if (!current)
      fill_rect(ImGui::GetWindowDrawList(), {at.x, at.y}, {at.x + width, y},
                faded(context.theme.window, 0.55f));
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, y - at.y});
}

}  // namespace shardlens::ui
