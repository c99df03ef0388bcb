// Shared by the verbs that read or write text: finds the tokenizer for a model, cleans texts as the model has
// learned them, and says what of a text was changed or not read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens::cli {

/// Returns `tokenizer` if it is given, else the one in the model's folder, else bytes. Throws what
/// load_tokenizer() throws.
std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& model, const std::string& tokenizer);

/// Says on stderr that a file has the name of a built-in tokenizer, if one has and that one is asked for.
void say_hidden_tokenizer(const std::string& tokenizer);

/// Gives texts to a model as it learned them. A model that was trained here has learned only cleaned texts
/// (clean_text()), so it reads no others. The texts of another model stay as they are, as other programs read
/// them, unless cleaning is asked for.
class TextsForModel {
 public:
  TextsForModel(const std::string& model, bool asked_to_clean);

  bool clean() const { return cleans_; }
  std::string read(const std::string& text);

  /// Says on stderr if the texts read so far were changed, or would be if they were cleaned. `where` names
  /// them, such as "--text FILE".
  void say_changes(const std::string& where) const;

 private:
  bool cleans_;
  bool unclean_ = false;  // cleaning changes one of the texts
};

/// Prints on stderr what was left out of a text, as read_documents() returns it.
void say_left_out(const std::vector<std::string>& left_out);

}  // namespace shardlens::cli
