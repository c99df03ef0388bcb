// Everything that reads a file, by form, as the verbs call it. Each takes the folder that the files are in,
// and throws what the readers throw.
#pragma once

#include <string>

namespace shardlens::fuzz {

void read_config(const std::string& folder);
void read_weights(const std::string& folder);
void read_tokenizer(const std::string& folder);
void read_array(const std::string& folder);
void read_split(const std::string& folder);
void read_hardware(const std::string& folder);
void read_text(const std::string& folder);
void read_corpus(const std::string& folder);
void read_checkpoint(const std::string& folder);
void read_lesson_file(const std::string& folder);
void read_answers_file(const std::string& folder);  ///< to answered_lesson()
void read_state_file(const std::string& folder);

/// A lesson with a question of each kind, whose answers need plans and no runs.
const char* answered_lesson();

}  // namespace shardlens::fuzz
