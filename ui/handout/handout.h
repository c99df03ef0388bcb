// A lesson on paper or in a page of the web, as plain data: everything that it says, filled in by a plan or a
// run made there and then. html.cpp and pdf.cpp write it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/lesson/marking.h"
#include "ui/figure/figure.h"

namespace shardlens {
struct Snapshot;
}

namespace shardlens::ui {

/// What the studio shows in a scene: vectors, or the pixels of a page that has none.
using HandoutPicture = std::variant<Figure, Image>;

struct HandoutQuestion {
  std::string id;
  QuestionKind kind = QuestionKind::Choice;
  PointAt at = PointAt::Step;
  std::string ask;
  std::vector<std::string> choices;  ///< of a Choice; of an Order: its items, shuffled
  std::string unit;
  RightAnswer right;  ///< with the key by which the page of the web judges
  /// Of a Point: the best word for each right answer, as the picture has it.
  std::vector<std::string> right_words;

  /// What a reader without the studio does, where the question does not say: "Write its name."
  std::string how_to_answer() const;
  /// What is right, for people.
  std::string right_text() const;
};

struct HandoutScene {
  std::string title;
  std::vector<ShownParagraph> text;
  std::vector<ShownCallout> callouts;
  std::vector<HandoutQuestion> questions;
  std::vector<HandoutPicture> light, dark;  ///< the same, for paper and for who reads in the dark
  std::string numbers;                      ///< what was run for the picture, where, and what came out
};

struct Handout {
  std::string name, title, asks;
  int minutes = 0;
  std::vector<std::string> sources;
  std::optional<uint64_t> seed;
  std::vector<HandoutScene> scenes;

  /// The words of the glossary that its texts and questions have, in the order in which a reader meets them:
  /// "Rank: One of the T workers …". On paper nothing explains a word under the mouse.
  std::vector<std::string_view> words() const;
  int question_count() const;
  /// "2.1": the first question of the second scene; both are counted from 0.
  static std::string number_of(size_t scene, size_t question);
  /// "12 minutes · 6 scenes · 9 questions".
  std::string extent() const;
};

/// What stands at the beginning; without scenes.
Handout handout_of(const Lesson& lesson, std::optional<uint64_t> seed);
/// A scene's words, without pictures and questions.
HandoutScene scene_of(const ShownScene& shown);
/// `program`: the scene's.
HandoutQuestion question_of(const ShownQuestion& shown, const RightAnswer& right, const Program& program);

/// What was run for a picture and what came out: settings, machine, difference from the run on one rank,
/// bytes sent, seconds. Empty if there is no plan.
std::string numbers_of(const Snapshot& snapshot);

/// One self-contained file: it opens without a network, and its questions can be answered in it.
std::string to_html(const Handout& handout, const Fonts& fonts);
/// A4 pages: scenes and questions, and on pages of their own the answers.
std::string to_pdf(const Handout& handout, const Fonts& fonts);

/// Throws a request Error unless the name ends in .pdf or .html.
void require_handout(const std::filesystem::path& path);
/// Writes a handout as .html or .pdf, whole or not at all.
void write_handout(const Handout& handout, const Fonts& fonts, const std::filesystem::path& path);

}  // namespace shardlens::ui
