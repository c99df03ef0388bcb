// A message of the studio to a person.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/settings.h"
#include "ui/settings/remedies.h"

namespace shardlens::ui {

/// A sentence. It may come with files, whose paths are listed below it, or with settings that would help, as
/// buttons. Those are offered only while the wanted settings are the ones the sentence is about.
struct Said {
  Said(std::string sentence = {}, std::vector<std::string> its_files = {})
      : words(std::move(sentence)), files(std::move(its_files)) {}
  Said(std::string sentence, const Settings& its_settings, std::vector<Remedy> its_offers)
      : words(std::move(sentence)), offers(std::move(its_offers)), about(its_settings) {}

  std::string words;
  std::vector<std::string> files;
  std::vector<Remedy> offers;
  std::optional<Settings> about;

  bool empty() const { return words.empty(); }
};

}  // namespace shardlens::ui
