// A message of the studio to a person.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardlens::ui {

/// A sentence. It may come with files, whose paths are listed below it.
struct Said {
  Said(std::string sentence = {}, std::vector<std::string> its_files = {})
      : words(std::move(sentence)), files(std::move(its_files)) {}

  std::string words;
  std::vector<std::string> files;

  bool empty() const { return words.empty(); }
};

}  // namespace shardlens::ui
