// Keeps the last answers, and sends one question for all windows of a frame.
#include "ui/plan/window_values.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <deque>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/outbox.h"
#include "ui/plan/shown_plan.h"

namespace shardlens::ui {
namespace {

constexpr size_t kKnown = 64;  ///< windows that are kept

/// What is known of the shown plan's windows, and what was asked.
struct WindowBook {
  std::weak_ptr<const Plan> plan;
  std::weak_ptr<const Result> kept_from;                    ///< the result of `kept`
  std::deque<std::shared_ptr<const WindowValues>> answers;  ///< of the Session, the newest first
  std::deque<std::shared_ptr<const WindowValues>> kept;     ///< out of samples
  std::weak_ptr<const WindowAnswer> taken;
  std::vector<TensorWindow> wanted, sent;  ///< in the frame `frame`; in the last question
  int frame = -1;
  RunState state = RunState::Planning;
};

std::shared_ptr<const WindowValues> find(const std::deque<std::shared_ptr<const WindowValues>>& list,
                                         const TensorWindow& window) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& values) { return values->window == window; });
  return found == list.end() ? nullptr : *found;
}

void remember(std::deque<std::shared_ptr<const WindowValues>>& list,
              std::shared_ptr<const WindowValues> values) {
  std::erase_if(list, [&](const auto& known) { return known->window == values->window; });
  list.push_front(std::move(values));
  if (list.size() > kKnown) list.pop_back();
}

/// Takes the Session's newest answer, and asks for what the last frame wanted.
WindowBook& up_to_date(const Context& context, const std::shared_ptr<const Plan>& plan,
                       const std::shared_ptr<const Result>& result) {
  auto& book = context.view.of<WindowBook>();
  const Snapshot& snapshot = context.snapshot;
  if (book.plan.lock() != plan) {
    book = WindowBook();
    book.plan = plan;
  }
  if (book.kept_from.lock() != result) {
    book.kept.clear();
    book.kept_from = result;
  }
  if (snapshot.windows && snapshot.windows->plan == plan && book.taken.lock() != snapshot.windows) {
    for (const auto& values : snapshot.windows->values) remember(book.answers, values);
    book.taken = snapshot.windows;
    book.sent.clear();
  }
  if (snapshot.state != book.state) {  // a run that failed answers nothing; the next one may
    book.state = snapshot.state;
    if (snapshot.state == RunState::Done) book.sent.clear();
  }
  if (book.frame == ImGui::GetFrameCount()) return book;
  book.frame = ImGui::GetFrameCount();
  const bool is_new = !book.wanted.empty() && book.wanted != book.sent;
  if (is_new && snapshot.reads_windows && snapshot.plan == plan) {
    context.send(command::ReadWindows{plan, book.wanted});
    book.sent = book.wanted;
  }
  book.wanted.clear();
  return book;
}

}  // namespace

std::shared_ptr<const WindowValues> values_in(const Context& context, const TensorWindow& window) {
  const std::shared_ptr<const Plan> plan = shared_shown_plan(context.snapshot);
  const std::shared_ptr<const Result> result = shown_result(context.snapshot);
  if (!plan || !result || !is_readable(plan->program, window)) return nullptr;
  WindowBook& book = up_to_date(context, plan, result);
  if (auto answer = find(book.answers, window)) return answer;
  book.wanted.push_back(window);
  if (auto kept = find(book.kept, window)) return kept;
  auto kept = kept_values(plan->program, result->samples, window);
  if (kept) remember(book.kept, kept);
  return kept;
}

std::string why_no_values(const Context& context, const TensorWindow& window) {
  const Snapshot& snapshot = context.snapshot;
  const std::shared_ptr<const Result> result = shown_result(snapshot);
  if (!result) return "not run yet";
  if (snapshot.reads_windows && snapshot.plan == result->plan && snapshot.state != RunState::Failed)
    return "reading …";
  const Tensor& tensor = result->plan->program.tensor(window.tensor);
  if (context.replay.is_open() && !context.replay.has_read(tensor.id)) return "reading …";
  return fmt::format("Only a picture of {} was kept. {}", tensor.symbol, result->not_exact);
}

std::string why_no_serial(const Context& context) {
  const std::shared_ptr<const Result> result = shown_result(context.snapshot);
  if (!result) return "not run yet";
  if (!result->not_compared.empty()) return result->not_compared;
  return context.snapshot.reads_windows ? "reading …" : "The run on one rank was not kept.";
}

}  // namespace shardlens::ui
