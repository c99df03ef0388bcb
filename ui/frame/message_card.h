// The card at the bottom with a message about the studio itself. It closes after enough time to read it. A
// card with files stays until a person closes it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "ui/context.h"

namespace shardlens::ui {

class MessageCard {
 public:
  void say(Said message) { message_ = std::move(message); }
  void close() { message_ = {}; }
  bool is_open() const { return !message_.empty(); }
  const std::string& words() const { return message_.words; }  ///< empty: nothing is said
  bool has_files() const { return !message_.files.empty(); }

  /// Takes over messages from panels and copied tables, and draws the card if there is a message.
  void draw(const Context& context, const std::function<void(const std::string&)>& open_recording);

 private:
  Said message_;
  std::string drawn_;       ///< its words in the last frame
  double shown_since_ = 0;  ///< ImGui's time at which they were first drawn
};

}  // namespace shardlens::ui
