// Finds the next step of a name, the next collective, the slowest pass or the longest wait.
#include <algorithm>
#include <cctype>

#include "engine/record/history.h"

namespace shardlens {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool holds(const std::string& text, const std::string& words) {
  return std::search(text.begin(), text.end(), words.begin(), words.end(), same_letter) != text.end();
}

}  // namespace

std::optional<HistoryPlace> History::place_of(Database& database, int64_t pass, int rank, StepId step) const {
  if (rank < 0 || rank >= ranks() || step < 0 || step >= static_cast<StepId>(program_->steps.size()))
    return std::nullopt;
  Statement row = database.prepare(
      "SELECT passes.begin_ns, events.begin_ns, end_ns, arrival_ns, met_ns FROM events JOIN passes ON "
      "passes.pass = events.pass WHERE events.pass = ? AND rank = ? AND step = ?");
  row.bind(1, pass).bind(2, int64_t{rank}).bind(3, int64_t{step});
  if (!row.step()) return std::nullopt;
  const EventTimes event =
      placed({row.integer(1), row.integer(2), row.integer(3), row.integer(4)}, row.integer(0));
  const EventParts parts = parts_of(program_->step(step), event);
  return HistoryPlace{pass, rank, step, parts.begin_ns, parts.end_ns, 0, false};
}

/// `steps` are the ids of the matching steps, ascending.
std::optional<HistoryPlace> History::next_of(Database& database, const HistoryQuestion& question,
                                             const std::vector<StepId>& steps) const {
  if (steps.empty()) return std::nullopt;
  const auto behind = std::upper_bound(steps.begin(), steps.end(), question.step);
  if (behind != steps.end())
    if (auto found = place_of(database, question.pass, question.rank, *behind)) return found;
  // In another pass it is the first of `steps`, because a rank has all steps up to its last.
  const auto first_in = [&](const char* which) -> std::optional<HistoryPlace> {
    Statement rows = database.prepare(which);
    rows.bind(1, question.pass);
    while (rows.step())
      if (auto found = place_of(database, rows.integer(0), question.rank, steps.front())) return found;
    return std::nullopt;
  };
  if (auto found = first_in("SELECT pass FROM passes WHERE pass > ? ORDER BY pass")) return found;
  auto found = first_in("SELECT pass FROM passes WHERE pass <= ? ORDER BY pass");
  if (found) found->wrapped = true;
  return found;
}

std::optional<HistoryPlace> History::slow_pass(const HistoryQuestion& question) const {
  if (passes_ == 0) return std::nullopt;
  const int64_t number = question.number % passes_;
  return file_->read([&](Database& database) -> std::optional<HistoryPlace> {
    Statement row = database.prepare(
        "SELECT pass, begin_ns, ns FROM passes WHERE pass < ? ORDER BY ns DESC, pass LIMIT 1 OFFSET ?");
    row.bind(1, end_pass()).bind(2, number);
    if (!row.step()) return std::nullopt;
    const auto pass = pass_of(row);
    return HistoryPlace{
        pass->pass, -1, -1, pass->begin_ns, pass->end_ns(), number, question.number >= passes_};
  });
}

std::optional<HistoryPlace> History::long_wait(const HistoryQuestion& question) const {
  if (!ready()) return std::nullopt;
  const int64_t count = tables().integer("SELECT count(*) FROM waits");
  if (count == 0) return std::nullopt;
  Statement row = tables().prepare("SELECT pass, rank, step FROM waits WHERE place = ?");
  row.bind(1, question.number % count);
  if (!row.step()) return std::nullopt;
  const int64_t pass = row.integer(0), rank = row.integer(1), step = row.integer(2);
  if (rank < 0 || rank >= ranks() || step < 0 || step >= static_cast<int64_t>(program_->steps.size()))
    damaged("its longest waits name ranks or steps that do not exist");
  auto found = file_->read([&](Database& database) {
    return place_of(database, pass, static_cast<int>(rank), static_cast<StepId>(step));
  });
  if (!found) return std::nullopt;
  found->number = question.number % count;
  found->wrapped = question.number >= count;
  return found;
}

std::optional<HistoryPlace> History::find(const HistoryQuestion& question) const {
  if (question.find == HistoryFind::SlowPass) return slow_pass(question);
  if (question.find == HistoryFind::LongWait) return long_wait(question);
  std::vector<StepId> steps;
  for (const Step& step : program_->steps) {
    const bool meant = question.find == HistoryFind::Collective
                           ? is_collective(step.op)
                           : holds(step.name, question.text) || holds(step.equation, question.text);
    if (meant) steps.push_back(step.id);
  }
  return file_->read([&](Database& database) { return next_of(database, question, steps); });
}

}  // namespace shardlens
