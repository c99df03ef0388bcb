// The worker behind a LessonSession.
//
// Protocol. Commands are carried out one after the other. One that opens or closes a lesson ends what is
// planned or run for the lesson before through a stop token, as the destructor does.
#include "engine/lesson/lesson_session.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/io/file_problem.h"
#include "engine/io/file_state.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/names.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/what_if.h"
#include "engine/runtime/mailbox.h"

namespace shardlens {

class LessonSession::Worker {
 public:
  Worker() {
    mail_.publish(std::make_shared<LessonSnapshot>());
    mail_.start("a lesson", [this] { return turn(); });
  }

  ~Worker() {
    mail_.close([this] { stop_.request_stop(); });
    mail_.join();
  }

  void send(LessonCommand command) {
    const bool ends_lesson = std::holds_alternative<lesson_command::Open>(command) ||
                             std::holds_alternative<lesson_command::Close>(command);
    mail_.send(std::move(command), [this, ends_lesson](auto& queue) {
      if (ends_lesson) {
        queue.clear();  // they are about the lesson before
        stop_.request_stop();
      }
      // Of several wishes to look at the file, one is enough.
      std::erase_if(queue, [](const LessonCommand& waiting) {
        return std::holds_alternative<lesson_command::Look>(waiting);
      });
    });
  }

  const Mailbox<LessonCommand, LessonSnapshot>& mail() const { return mail_; }

 private:
  NextTurn turn();
  void begin(const LessonCommand& command);
  bool carry_out(const LessonCommand& command);
  void handle(const lesson_command::Open& command);
  void handle(const lesson_command::Close& command);
  void handle(const lesson_command::Look& command);
  void handle(const lesson_command::Make& command);
  void handle(const lesson_command::Answer& command);
  void handle(const lesson_command::Reveal& command);
  void handle(const lesson_command::TellTeacher& command);
  void handle(const lesson_command::Forget& command);
  void take(std::shared_ptr<const Lesson> lesson, const FileState& file);
  std::pair<const Scene&, const Question&> find(const std::string& question) const;
  /// The state with its values in place; null if it is not there.
  std::shared_ptr<const ShownState> made(const std::optional<SceneState>& state);
  std::shared_ptr<const ShownState> revealed(const Scene& scene, const Question& question,
                                             const RightAnswer& right);
  void publish();

  // shared with callers
  Mailbox<LessonCommand, LessonSnapshot> mail_;
  std::stop_source stop_;  ///< of the present or the next command; under the mailbox's lock

  // the worker's own
  std::stop_token token_;
  LessonSnapshot now_;
  std::unique_ptr<LessonRun> run_;        ///< of now_.lesson
  std::shared_ptr<EvidenceStore> store_;  ///< what was planned and run; it outlives a changed file
  std::optional<uint64_t> seed_;
  FileState file_;                        ///< of now_.path, when it was read
  FileState failed_;                      ///< of now_.path, when it could not be read
  std::optional<LessonCommand> command_;  ///< the present one
  bool news_ = false;                     ///< it has changed something
};

namespace {

/// The question that is answered or revealed; null: none is.
const std::string* asked_about(const LessonCommand& command) {
  if (const auto* const answer = std::get_if<lesson_command::Answer>(&command)) return &answer->question;
  const auto* const reveal = std::get_if<lesson_command::Reveal>(&command);
  return reveal == nullptr ? nullptr : &reveal->question;
}

// Nothing is wrong then: the lesson was closed, or another one opened.
bool is_stopped(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr && known->kind() == ErrorKind::Cancelled;
}

}  // namespace

void LessonSession::Worker::publish() {
  ++now_.version;
  mail_.publish(std::make_shared<LessonSnapshot>(now_));
}

NextTurn LessonSession::Worker::turn() {
  if (!mail_.begin_turn()) return kEnds;
  if (!command_) {
    // Made before the command is taken: what arrives from here on stops it.
    token_ = mail_.locked([this] { return (stop_ = std::stop_source()).get_token(); });
    command_ = mail_.take();
    if (!command_) return mail_.end_turn(false);
    begin(*command_);
  } else if (!store_->later().go_on()) {
    return mail_.end_turn(true);
  }
  if (!carry_out(*command_)) return mail_.end_turn(true);
  command_.reset();
  return mail_.end_turn(false);
}

void LessonSession::Worker::begin(const LessonCommand& command) {
  // A look at a file that has not changed is no news.
  news_ = !std::holds_alternative<lesson_command::Look>(command);
  if (news_) {
    now_.busy = true;
    now_.message.clear();
    publish();
  }
  if (store_) store_->stop_with(token_);
}

/// Returns false if something must be run first; then it is carried out anew.
bool LessonSession::Worker::carry_out(const LessonCommand& command) {
  try {
    std::visit([this](const auto& wish) { handle(wish); }, command);
  } catch (const NotYet&) {
    return false;
  } catch (const std::exception& error) {
    if (!is_stopped(error)) now_.message = message_of(error);
    news_ = true;
  }
  if (store_) store_->later().forget();
  if (const std::string* const question = asked_about(command)) ++now_.carried_out[*question];
  now_.making = -1;
  now_.busy = false;
  if (news_) publish();
  return true;
}

void LessonSession::Worker::take(std::shared_ptr<const Lesson> lesson, const FileState& file) {
  auto run = std::make_unique<LessonRun>(*lesson, seed_, store_);  // throws before anything has changed
  run_ = std::move(run);
  now_.lesson = std::move(lesson);
  now_.scenes.assign(now_.lesson->scenes.size(), {});
  now_.answers.clear();
  now_.teachers_answers.clear();
  now_.marked.clear();
  now_.answered = nlohmann::json::object();
  now_.shows.clear();
  now_.carried_out.clear();
  now_.message.clear();
  ++now_.reading;
  file_ = file;
  failed_ = {};
}

void LessonSession::Worker::handle(const lesson_command::Open& command) {
  now_.asked = command.name_or_file;
  std::shared_ptr<const Lesson> lesson = find_lesson(command.name_or_file, token_);
  const FileState file = state_of_file(lesson->source);
  const std::optional<uint64_t> seed = std::exchange(seed_, command.seed);
  if (!store_) store_ = std::make_shared<EvidenceStore>();
  store_->stop_with(token_);
  store_->later().is_wanted = kWorkersTakeTurns;
  std::shared_ptr<const Lesson> old = now_.lesson;  // run_ needs it until it is replaced
  try {
    take(std::move(lesson), file);
  } catch (...) {
    seed_ = seed;
    throw;
  }
  const auto& built_in = built_in_lessons();
  const bool is_file = std::find(built_in.begin(), built_in.end(), now_.lesson) == built_in.end();
  now_.path = is_file ? now_.lesson->source : "";
  now_.seed = seed_;
}

void LessonSession::Worker::handle(const lesson_command::Close&) {
  run_.reset();
  store_.reset();
  const uint64_t version = now_.version, reading = now_.reading;
  now_ = {};
  now_.version = version;
  now_.reading = reading;
}

void LessonSession::Worker::handle(const lesson_command::Look&) {
  if (now_.path.empty()) return;
  const FileState file = state_of_file(now_.path);
  if (file == file_ || file == failed_) return;
  try {
    std::shared_ptr<const Lesson> old = now_.lesson;
    take(find_lesson(now_.path, token_), file);
    news_ = true;
  } catch (const std::exception& error) {
    if (!is_stopped(error)) failed_ = file;
    throw;
  }
}

void LessonSession::Worker::handle(const lesson_command::Make& command) {
  if (!run_ || command.scene < 0 || static_cast<size_t>(command.scene) >= now_.scenes.size()) return;
  MadeScene& made = now_.scenes[static_cast<size_t>(command.scene)];
  if (made.shown) return;
  now_.making = command.scene;
  publish();
  try {
    made.shown =
        std::make_shared<ShownScene>(run_->show(now_.lesson->scenes[static_cast<size_t>(command.scene)]));
    made.problem.clear();
  } catch (const std::exception& error) {
    if (is_stopped(error)) throw;
    made.problem = message_of(error);
  }
}

std::pair<const Scene&, const Question&> LessonSession::Worker::find(const std::string& id) const {
  if (!run_) throw request_error("no lesson is open: open one first");
  std::vector<std::string> ids;
  for (const Scene& scene : now_.lesson->scenes)
    for (const Question& question : scene.questions) {
      if (question.id == id) return {scene, question};
      ids.push_back(question.id);
    }
  throw unknown_name("question", id, ids);
}

std::shared_ptr<const ShownState> LessonSession::Worker::made(const std::optional<SceneState>& state) {
  if (!state) return nullptr;
  return std::make_shared<ShownState>(
      ShownState{*state, settings_of(*now_.lesson, *state, run_->drawn()), run_->callouts(*state), ""});
}

/// What the page shows with a revealed answer if the question does not say: what was to be pointed at, lit;
/// or a right cut, run. Null: the scene as it is.
std::shared_ptr<const ShownState> LessonSession::Worker::revealed(const Scene& scene,
                                                                  const Question& question,
                                                                  const RightAnswer& right) {
  if (question.shows) return made(question.shows);
  SceneState state = scene.state;
  if (state.mistake || state.train || !state.recording.empty()) return nullptr;  // it would all run again
  if (question.kind == QuestionKind::Point) {
    const bool is_rank = question.at == PointAt::Rank;
    const std::string name = (is_rank ? "rank " : "") + right.accepted.front();
    if (is_rank)
      state.rank = rank_named(name);
    else
      state.select = name;
    if (!state.spotlight.empty()) state.spotlight = {name};
  } else if (question.kind == QuestionKind::Cut) {
    state.page.clear();  // what the scene looks at closely may not be there
    state.spotlight.clear();
    state.callouts.clear();
  } else {
    return nullptr;
  }
  Settings settings = settings_of(*now_.lesson, state, run_->drawn());
  if (right.split) settings.split = *right.split;
  return std::make_shared<ShownState>(ShownState{state, settings, run_->callouts(state), ""});
}

void LessonSession::Worker::handle(const lesson_command::Answer& command) {
  const auto [scene, question] = find(command.question);
  const Marked& marked = now_.marked[question.id] = run_->mark(scene, question, command.answer);
  now_.answered[question.id] = command.answer;
  auto& shows = now_.shows[question.id];
  shows = nullptr;
  if (marked.right) {
    now_.answers[question.id] = run_->right_answer(scene, question);
    shows = made(question.shows);
    return;
  }
  if (const LessonChoice* choice = run_->choice_of(scene, question, command.answer))
    shows = made(choice->shows);
  if (shows || !marked.hint.empty()) return;  // the author says more than a plan can
  if (const auto other = settings_where_right(*run_, scene, question, command.answer)) {
    SceneState state = scene.state;
    state.page.clear();  // what the scene looks at closely may not be there
    state.spotlight.clear();
    state.callouts.clear();
    shows = std::make_shared<ShownState>(ShownState{state, other->settings, {}, other->difference});
  }
}

void LessonSession::Worker::handle(const lesson_command::Reveal& command) {
  const auto [scene, question] = find(command.question);
  const RightAnswer& right = now_.answers[question.id] = run_->right_answer(scene, question);
  now_.shows[question.id] = revealed(scene, question, right);
}

void LessonSession::Worker::handle(const lesson_command::TellTeacher& command) {
  const auto [scene, question] = find(command.question);
  now_.teachers_answers[question.id] = run_->right_answer(scene, question);
}

void LessonSession::Worker::handle(const lesson_command::Forget& command) {
  now_.answers.erase(command.question);
  now_.marked.erase(command.question);
  now_.answered.erase(command.question);
  now_.shows.erase(command.question);
  now_.carried_out.erase(command.question);
}

LessonSession::LessonSession() : worker_(std::make_unique<Worker>()) {}
LessonSession::~LessonSession() = default;
void LessonSession::send(LessonCommand command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const LessonSnapshot> LessonSession::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const LessonSnapshot> LessonSession::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
