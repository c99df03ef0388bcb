// The thread behind an open lesson. Texts, answers and marks of a lesson come from plans and runs, and those
// can take seconds, so they are made here. It takes LessonCommands from one queue and publishes
// LessonSnapshots. It never waits for the caller, and the caller never waits for it.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/lesson/marking.h"

namespace shardlens {

/// A scene with its values in place.
struct MadeScene {
  std::shared_ptr<const ShownScene> shown;  ///< null: not made yet, or it cannot be made
  std::string problem;                      ///< why it cannot be made, with file and line
};

/// What the studio shows with an answer: a state with its settings.
struct ShownState {
  SceneState state;
  Settings settings;
  std::vector<ShownCallout> callouts;
  /// "T = 8": where a wrong answer would be right, which is shown if a person asks for it. Empty: this is not
  /// such a state, and it is shown at once.
  std::string where_right;
};

struct LessonSnapshot {
  uint64_t version = 0;
  std::string asked;                           ///< the name or file that was opened last; empty: none
  std::shared_ptr<const Lesson> lesson;        ///< null: none is open. The scenes point into it
  std::string path;                            ///< its file; empty: it is built in
  std::optional<uint64_t> seed;                ///< that drew its numbers
  uint64_t reading = 0;                        ///< grows with every time that a lesson is read
  std::vector<MadeScene> scenes;               ///< as many as the lesson has
  std::map<std::string, RightAnswer> answers;  ///< by question: those that were revealed or marked
  /// By question: those that only who teaches has seen.
  std::map<std::string, RightAnswer> teachers_answers;
  std::map<std::string, Marked> marked;                ///< by question: the last answer to it
  nlohmann::json answered = nlohmann::json::object();  ///< those answers themselves, as in an answers file
  /// By question: what the answer or the reveal shows. For a wrong choice: what it would mean.
  std::map<std::string, std::shared_ptr<const ShownState>> shows;
  /// By question: how many of its Answers and Reveals have been carried out, or have failed. While a person
  /// has sent more, one waits.
  std::map<std::string, int> carried_out;
  std::string message;  ///< why the last command failed, and what would work
  int making = -1;      ///< the scene that is made now; -1: none
  bool busy = false;

  bool is_open() const { return lesson != nullptr; }
};

namespace lesson_command {
/// Reads a built-in lesson, a file, or a lesson of the user's folder. If it cannot be read, `message` says
/// why, and what was open stays.
struct Open {
  std::string name_or_file;
  std::optional<uint64_t> seed;
};
struct Close {};
/// Reads the file again if it has changed. While it cannot be read, the lesson stays as it was.
struct Look {};
/// Makes a scene, if it is not made yet.
struct Make {
  int scene = 0;
};
/// Marks an answer, in the form of an answers file. The latest one counts.
struct Answer {
  std::string question;
  nlohmann::json answer;
};
/// Finds the right answer.
struct Reveal {
  std::string question;
};
/// Finds the right answer for who teaches. To all others it stays open.
struct TellTeacher {
  std::string question;
};
/// Takes back what was answered and revealed: all is as in the beginning.
struct Forget {
  std::string question;
};
}  // namespace lesson_command

using LessonCommand = std::variant<lesson_command::Open, lesson_command::Close, lesson_command::Look,
                                   lesson_command::Make, lesson_command::Answer, lesson_command::Reveal,
                                   lesson_command::TellTeacher, lesson_command::Forget>;

class LessonSession {
 public:
  LessonSession();
  ~LessonSession();  ///< stops what is planned or run, and joins the thread
  LessonSession(const LessonSession&) = delete;
  LessonSession& operator=(const LessonSession&) = delete;

  void send(LessonCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const LessonSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until no command waits and nothing is made, or until `timeout_seconds` have passed. Returns the
  /// newest snapshot. For tests and for pictures without a window.
  std::shared_ptr<const LessonSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
