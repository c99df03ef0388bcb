// The words and tables that compare two recordings.
#include "ui/panels/recordings/recordings_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "engine/base/counted.h"
#include "engine/record/gallery.h"
#include "ui/panels/setup/delays.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr size_t kMostSettings = 4;

std::string passes_words(int64_t passes) {
  return counted(passes, "pass", "passes");
}

std::string bytes_words(int64_t bytes) {
  return bytes > 0 ? bytes_text(static_cast<double>(bytes)) : "";
}

std::string seconds_words(double seconds) {
  return seconds > 0 ? format_seconds(seconds) : "";
}

/// "pass 3", or "pass 3 of A, 5 of B" if they begin at different training steps.
std::string pass_words(const Parting& parting) {
  return parting.a_pass == parting.b_pass ? fmt::format("pass {}", grouped_text(parting.a_pass))
                                          : fmt::format("pass {} of A, {} of B", grouped_text(parting.a_pass),
                                                        grouped_text(parting.b_pass));
}

/// Enough digits to show that two numbers differ.
std::string exact_value(double value) {
  return fmt::format("{:.9g}", value);
}

std::string compared_words(const RecordingDiff& diff) {
  int64_t values = 0;
  for (const MetricDiff& metric : diff.metrics) values += metric.is_time ? 0 : metric.passes;
  std::string words;
  if (diff.compared_hashes > 0)
    words =
        fmt::format("{} hashes of {}", grouped_text(diff.compared_hashes), passes_words(diff.hashed_passes));
  if (values > 0) words += (words.empty() ? "" : " and ") + counted(values, "metric");
  return words;
}

void describe_tensor(const ComparedRuns& runs, const Parting& parting, Answer& answer) {
  const Program& a = *runs.a.program;
  const Tensor& tensor = a.tensor(parting.a_tensor);
  const std::string shape =
      fmt::format("{} {}, {}", to_string(tensor.shape), to_string(tensor.dtype), to_string(tensor.layout));
  if (parting.a_step < 0)
    answer.lines.push_back("It exists before the first step: the weights or inputs differ · " + shape);
  else
    answer.lines.push_back(fmt::format("Step {}, {}, {}: {} · {}", parting.a_step,
                                       a.step(parting.a_step).name, to_string(a.step(parting.a_step).phase),
                                       a.step(parting.a_step).equation, shape));
  if (parting.element) {
    const PartedElement& e = *parting.element;
    answer.lines.push_back(
        fmt::format("First at row {}, column {}: {} in A, {} in B · {} of the {} numbers that rank {} holds "
                    "differ, by {} at most",
                    e.row, e.col, exact_value(e.a), exact_value(e.b), grouped_text(e.differing),
                    grouped_text(e.elements), parting.rank, format_error(e.largest)));
  } else if (parting.a_piece && parting.b_piece) {
    const TensorStats &x = parting.a_piece->stats, &y = parting.b_piece->stats;
    answer.lines.push_back(fmt::format("Rank {} holds {}: mean {} in A, {} in B · rms {} and {}",
                                       parting.rank, to_string(parting.a_piece->shape), exact_value(x.mean),
                                       exact_value(y.mean), exact_value(x.rms), exact_value(y.rms)));
  }
  answer.notes.push_back(fmt::format("Hash {:016x} in A, {:016x} in B", parting.a_hash, parting.b_hash));
}

const GalleryPiece* piece_of(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string name = path.starts_with("gallery:")             ? path.substr(8)
                           : file.parent_path() == gallery_folder() ? file.stem().string()
                                                                    : std::string();
  for (const GalleryPiece& piece : gallery())
    if (piece.name == name) return &piece;
  return nullptr;
}

std::string settings_words(const ComparedRuns& runs) {
  std::vector<std::string> words;
  bool late = false;
  for (const SettingDiff& one : runs.diff.settings) {
    const auto value = [](const std::string& text) { return text.empty() ? std::string("–") : text; };
    if (one.key.starts_with("delays"))  // each delay has several settings
      late = true;
    else
      words.push_back(fmt::format("{} {} → {}", one.key, value(one.a), value(one.b)));
  }
  if (late)
    words.insert(words.begin(), fmt::format("{} → {}", delays_phrase(runs.a.program->settings),
                                            delays_phrase(runs.b.program->settings)));
  const size_t more = words.size() - std::min(words.size(), kMostSettings);
  words.resize(words.size() - more);
  return fmt::format("{}{}", fmt::join(words, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::string recording_title(const std::string& path) {
  if (const GalleryPiece* piece = piece_of(path)) return piece->title;
  return std::filesystem::path(path).stem().string();
}

std::string metric_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string run_words(const ComparedRun& run, int64_t passes) {
  const Settings& s = run.program->settings;
  const std::string replicas = s.dp > 1 ? fmt::format(" · D = {}", s.dp) : std::string();
  const std::string late = s.delays.empty() ? std::string() : " · " + delays_phrase(s);
  // The first words are what differs most often between recordings of one model, because little room cuts the
  // end.
  return fmt::format("{} of {} · {} · T = {}{} · {}{} · {} × {} · {}{} · {}", run.verb, s.model.title,
                     to_string(s.dtype), s.tp, replicas, s.split.name, late, s.batch, s.seq,
                     passes_words(passes), run.finished ? "" : ", not finished", run.machine);
}

std::string unlike_words(const ComparedRuns& runs) {
  const RecordingDiff& diff = runs.diff;
  std::string words;
  if (!diff.settings.empty()) words = "Settings: " + settings_words(runs) + ". ";
  if (diff.same_program) return words;
  if (diff.steps.empty()) return words + "The two Programs have no step in common. ";
  words += counted(std::ssize(diff.steps), "step is", "steps are") + " in both Programs";
  if (!diff.only_a.empty()) words += fmt::format(", {} only in A", diff.only_a.size());
  if (!diff.only_b.empty()) words += fmt::format(", {} only in B", diff.only_b.size());
  return words + ".";
}

Answer answer_of(const ComparedRuns& runs) {
  const RecordingDiff& diff = runs.diff;
  Answer answer;
  if (!diff.compared_values()) {
    const bool cut_otherwise = diff.cut_otherwise > 0, in_other_dtype = diff.in_other_dtype > 0;
    answer.headline = diff.shared_passes == 0 ? "No pass is in both"
                      : cut_otherwise         ? "Their values are cut differently"
                      : in_other_dtype        ? "Their values are of different dtypes"
                                              : "Their values cannot be compared";
    answer.lines.push_back(
        diff.shared_passes == 0 ? "One of them holds no pass, or they hold different training steps. Record "
                                  "the same steps in both."
        : cut_otherwise  ? "No tensor is cut the same way in both. Record both with the same T and split."
        : in_other_dtype ? "No tensor has the same dtype in both. Record both in one dtype."
                         : "No pass has hashes or a loss in both. Record both with --record-pictures all, or "
                           "with pictures in the studio.");
    answer.lines.push_back("Times, bytes and memory are compared below.");
    return answer;
  }
  if (!diff.parting) {
    answer.verdict = DiffVerdict::Same;
    const bool is_itself = !runs.a.path.empty() && runs.a.path == runs.b.path;
    answer.headline = is_itself ? "A and B are the same recording: choose another one"
                                : "The same values, as far as they were recorded";
    answer.lines.push_back(compared_words(diff) + " are equal.");
    if (diff.a_passes != diff.b_passes)
      answer.lines.push_back(fmt::format("A has {}, B {}. Only passes in both are compared.",
                                         passes_words(diff.a_passes), passes_words(diff.b_passes)));
  } else if (!diff.parting->metric.empty()) {
    answer.verdict = DiffVerdict::Parted;
    const auto metric = std::find_if(diff.metrics.begin(), diff.metrics.end(),
                                     [&](const MetricDiff& one) { return one.name == diff.parting->metric; });
    answer.headline =
        fmt::format("First difference in {}: {}", pass_words(*diff.parting), metric_words(metric->name));
    answer.lines.push_back(
        fmt::format("It is {} in A and {} in B.", exact_value(metric->a), exact_value(metric->b)));
    answer.lines.push_back(
        "The first tensor that differs is not known, because that pass has no hashes in both. To find it, "
        "record both with --record-pictures all.");
  } else {
    answer.verdict = DiffVerdict::Parted;
    const Parting& parting = *diff.parting;
    answer.headline = fmt::format("First difference in {}{}: {}, rank {}", pass_words(parting),
                                  diff.in_other_dtype > 0 ? ", at the latest" : "",
                                  runs.a.program->tensor(parting.a_tensor).name, parting.rank);
    describe_tensor(runs, parting, answer);
    answer.notes.push_back(
        fmt::format("{} of {} tensors compared in that pass differ{}", grouped_text(parting.differing),
                    grouped_text(parting.compared),
                    diff.hashed_passes > 1
                        ? fmt::format("; none differs in the {} before", passes_words(diff.hashed_passes - 1))
                        : std::string()));
  }
  for (std::string& sentence : diff.not_compared()) answer.notes.push_back(std::move(sentence));
  return answer;
}

std::vector<DiffRow> diff_rows(const ComparedRuns& runs) {
  const RecordingDiff& diff = runs.diff;
  const Program &a = *runs.a.program, &b = *runs.b.program;
  const auto seconds = [](const std::vector<double>& of, StepId step) {
    return static_cast<size_t>(step) < of.size() ? of[static_cast<size_t>(step)] : 0;
  };
  const auto named = [](const Step& step) {
    DiffRow row;
    row.name = step.name;
    row.layer = step.layer;
    row.phase = step.phase;
    row.collective = is_collective(step.op);
    return row;
  };
  // The steps that only B has, by the step of B that they follow.
  std::map<StepId, std::vector<DiffRow>> behind;
  const std::set<StepId> only_b(diff.only_b.begin(), diff.only_b.end());
  StepId before = -1;
  for (const Step& step : b.steps) {
    if (!only_b.contains(step.id)) {
      before = step.id;
      continue;
    }
    DiffRow row = named(step);
    row.b = step.id;
    row.b_seconds = seconds(diff.b_step_seconds, step.id);
    row.b_sent_bytes = sent_bytes(b, step.id);
    behind[before].push_back(std::move(row));
  }
  std::vector<DiffRow> rows;
  const auto add_behind = [&](StepId step) {
    const auto found = behind.find(step);
    if (found != behind.end()) rows.insert(rows.end(), found->second.begin(), found->second.end());
  };
  add_behind(-1);
  size_t pair = 0;
  for (const Step& step : a.steps) {
    DiffRow row = named(step);
    row.a = step.id;
    row.a_seconds = seconds(diff.a_step_seconds, step.id);
    if (pair < diff.steps.size() && diff.steps[pair].a == step.id) {
      const StepDiff& both = diff.steps[pair++];
      row.b = both.b;
      row.b_seconds = both.b_seconds;
      row.a_wait_seconds = both.a_wait_seconds;
      row.b_wait_seconds = both.b_wait_seconds;
      row.a_sent_bytes = both.a_sent_bytes;
      row.b_sent_bytes = both.b_sent_bytes;
    } else {
      row.a_sent_bytes = sent_bytes(a, step.id);
    }
    rows.push_back(row);
    if (row.b >= 0) add_behind(row.b);
  }
  return rows;
}

std::vector<size_t> sorted_places(const std::vector<DiffRow>& rows, const SortOrder& order) {
  std::vector<size_t> places(rows.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  if (order.column < 0) return places;
  const auto column = static_cast<DiffColumn>(order.column);
  // Rows without a figure come last in both orders.
  const auto figure = [column](const DiffRow& row) -> double {
    switch (column) {
      case DiffColumn::Step:
        return row.a >= 0 ? row.a : NAN;
      case DiffColumn::Phase:
        return static_cast<double>(row.phase);
      case DiffColumn::TimeA:
        return row.a >= 0 ? row.a_seconds : NAN;
      case DiffColumn::TimeB:
        return row.b >= 0 ? row.b_seconds : NAN;
      case DiffColumn::Ratio:
        return row.ratio() > 0 ? row.ratio() : NAN;
      case DiffColumn::WaitA:
        return row.a_wait_seconds > 0 ? row.a_wait_seconds : NAN;
      case DiffColumn::WaitB:
        return row.b_wait_seconds > 0 ? row.b_wait_seconds : NAN;
      case DiffColumn::SentA:
        return row.a_sent_bytes > 0 ? static_cast<double>(row.a_sent_bytes) : NAN;
      case DiffColumn::SentB:
        return row.b_sent_bytes > 0 ? static_cast<double>(row.b_sent_bytes) : NAN;
      case DiffColumn::Name:
        break;
    }
    return 0;
  };
  std::stable_sort(places.begin(), places.end(), [&](size_t i, size_t j) {
    const DiffRow &x = rows[i], &y = rows[j];
    if (column == DiffColumn::Name) return order.descending ? x.name > y.name : x.name < y.name;
    const double of_x = figure(x), of_y = figure(y);
    if (std::isnan(of_x) || std::isnan(of_y)) return !std::isnan(of_x) && std::isnan(of_y);
    return order.descending ? of_x > of_y : of_x < of_y;
  });
  return places;
}

std::string ratio_words(double a, double b) {
  return a > 0 ? fmt::format("{:.2f}", b / a) : "";
}

std::vector<FigureRow> total_rows(const ComparedRuns& runs) {
  const RecordingDiff& diff = runs.diff;
  std::vector<FigureRow> rows;
  const auto time = [&](const std::string& name, double a, double b, const char* help) {
    rows.push_back({name, seconds_words(a), seconds_words(b), ratio_words(a, b), help});
  };
  const std::string mean = fmt::format("Mean of {} that both have", passes_words(diff.timed_passes));
  if (diff.timed_passes > 0) {
    rows.push_back({"time of a pass", "", "", "", mean, true});
    time("whole pass", diff.a_pass_seconds, diff.b_pass_seconds,
         "Until the last rank ends, waiting included");
    double a_wait = 0, b_wait = 0;
    for (const KindDiff& kind : diff.kinds) {
      time(op_name(kind.op, kind.overlapped), kind.a_seconds, kind.b_seconds,
           kind.overlapped ? "Its steps on the slowest rank, summed. They overlapped with other steps"
                           : "Its steps on the slowest rank, summed");
      if (kind.overlapped) continue;
      a_wait += kind.a_wait_seconds;
      b_wait += kind.b_wait_seconds;
    }
    time("waiting", a_wait, b_wait,
         "In collectives, for the last rank. Overlapped collectives are not counted");
  }
  rows.push_back({"bytes", "", "", "", "", true});
  const auto bytes = [&](const std::string& name, int64_t a, int64_t b, const char* help) {
    rows.push_back({name, bytes_text(static_cast<double>(a)), bytes_text(static_cast<double>(b)),
                    ratio_words(static_cast<double>(a), static_cast<double>(b)), help});
  };
  bytes("each rank sends", diff.a_sent_bytes, diff.b_sent_bytes, "In a pass, by its collectives");
  const auto fullest = [](const std::vector<BytesByKind>& ranks) {
    int64_t most = 0;
    for (const BytesByKind& rank : ranks) most = std::max(most, total_bytes(rank));
    return most;
  };
  bytes("fullest rank's memory", fullest(diff.a_high_water_bytes), fullest(diff.b_high_water_bytes),
        "High-water of all kinds, measured");
  rows.push_back({"what they are", "", "", "", "", true});
  rows.push_back({"passes", grouped_text(diff.a_passes), grouped_text(diff.b_passes), "", ""});
  const auto count = [](const ComparedRun& run) {
    return grouped_text(static_cast<int64_t>(run.program->steps.size()));
  };
  rows.push_back({"steps of the Program", count(runs.a), count(runs.b), "", ""});
  for (const SettingDiff& setting : diff.settings)
    rows.push_back({setting.key, setting.a.empty() ? "–" : setting.a, setting.b.empty() ? "–" : setting.b, "",
                    "A setting that differs"});
  rows.push_back({"machine", runs.a.machine, runs.b.machine, "", ""});
  rows.push_back({"communicator", runs.a.communicator, runs.b.communicator, "", ""});
  return rows;
}

std::vector<FigureRow> memory_rows(const ComparedRuns& runs) {
  std::vector<FigureRow> rows;
  for (const MemoryDiff& kind : runs.diff.memory)
    rows.push_back({to_string(kind.kind), bytes_text(static_cast<double>(kind.a_bytes)),
                    bytes_text(static_cast<double>(kind.b_bytes)),
                    ratio_words(static_cast<double>(kind.a_bytes), static_cast<double>(kind.b_bytes)), ""});
  return rows;
}

TextTable steps_table(const std::vector<DiffRow>& rows, const std::vector<size_t>& places) {
  TextTable table{{{"step of A", Align::Right},
                   {"step of B", Align::Right},
                   {"name"},
                   {"phase"},
                   {"time A", Align::Right},
                   {"time B", Align::Right},
                   {"B / A", Align::Right},
                   {"waits A", Align::Right},
                   {"waits B", Align::Right},
                   {"sends A", Align::Right},
                   {"sends B", Align::Right}},
                  {}};
  const auto number = [](StepId step) { return step >= 0 ? std::to_string(step) : std::string(); };
  for (const size_t place : places) {
    const DiffRow& row = rows[place];
    table.rows.push_back({number(row.a), number(row.b), row.name, to_string(row.phase),
                          seconds_words(row.a_seconds), seconds_words(row.b_seconds),
                          row.ratio() > 0 ? ratio_words(row.a_seconds, row.b_seconds) : "",
                          seconds_words(row.a_wait_seconds), seconds_words(row.b_wait_seconds),
                          bytes_words(row.a_sent_bytes), bytes_words(row.b_sent_bytes)});
  }
  return table;
}

TextTable figures_table(const std::vector<FigureRow>& rows) {
  TextTable table{{{""}, {"A", Align::Right}, {"B", Align::Right}, {"B / A", Align::Right}}, {}};
  for (const FigureRow& row : rows)
    if (!row.is_head) table.rows.push_back({row.name, row.a, row.b, row.ratio});
  return table;
}

TextTable ranks_table(const ComparedRuns& runs) {
  const RecordingDiff& diff = runs.diff;
  TextTable table{{{"rank", Align::Right}, {"run"}, {"total", Align::Right}}, {}};
  for (const MemoryDiff& kind : diff.memory) table.columns.push_back({to_string(kind.kind), Align::Right});
  const size_t ranks = std::max(diff.a_high_water_bytes.size(), diff.b_high_water_bytes.size());
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const auto& [name, bytes] :
         {std::pair{"A", &diff.a_high_water_bytes}, {"B", &diff.b_high_water_bytes}}) {
      if (rank >= bytes->size()) continue;
      const BytesByKind& held = (*bytes)[rank];
      table.rows.push_back({std::to_string(rank), name, bytes_text(static_cast<double>(total_bytes(held)))});
      for (const MemoryDiff& kind : diff.memory)
        table.rows.back().push_back(bytes_words(held[static_cast<size_t>(kind.kind)]));
    }
  }
  return table;
}

TextTable curve_table(const ComparedCurve& curve) {
  TextTable table{{{"pass of A", Align::Right}, {"A", Align::Right}, {"B", Align::Right}}, {}};
  std::map<double, std::pair<std::string, std::string>> passes;
  for (const ComparedCurve::Point& point : curve.a) passes[point.pass].first = exact_value(point.value);
  for (const ComparedCurve::Point& point : curve.b) passes[point.pass].second = exact_value(point.value);
  for (const auto& [pass, values] : passes)
    table.rows.push_back({fmt::format("{:.0f}", pass), values.first, values.second});
  return table;
}

std::string answer_text(const ComparedRuns& runs) {
  const Answer answer = answer_of(runs);
  std::string text = fmt::format("A  {}\nB  {}\n{}\n", run_words(runs.a, runs.diff.a_passes),
                                 run_words(runs.b, runs.diff.b_passes), answer.headline);
  for (const auto* lines : {&answer.lines, &answer.notes})
    for (const std::string& line : *lines) text += line + "\n";
  const std::string unlike = unlike_words(runs);
  return unlike.empty() ? text : text + unlike + "\n";
}

}  // namespace shardlens::ui
