// Finds the known word that is nearest to an unknown one, by edit distance.
#include "engine/base/suggest.h"

#include <algorithm>
#include <numeric>

#include "engine/base/shown.h"
#include "engine/base/utf8.h"

namespace shardlens {

int edit_distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest_name(const std::string& text, const std::vector<std::string>& candidates) {
  const std::string lower = lower_case(text);
  const auto nearest = std::min_element(
      candidates.begin(), candidates.end(),
      [&](const auto& a, const auto& b) { return edit_distance(lower, a) < edit_distance(lower, b); });
  return nearest == candidates.end() ? std::string() : *nearest;
}

std::string near_name(const std::string& text, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(text, candidates);
  return edit_distance(lower_case(text), nearest) <= static_cast<int>(nearest.size() + 1) / 2 ? nearest
                                                                                              : std::string();
}

std::string join(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

namespace {

constexpr size_t kMostListed = 60;  // a Program of many layers has thousands of names
constexpr size_t kNearestListed = 10;

std::string known_text(const std::string& word, std::vector<std::string> known) {
  if (known.size() <= kMostListed) return " Known: " + join(known) + ".";
  const std::string lower = lower_case(word), count = std::to_string(known.size());
  std::stable_sort(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(lower, a) < edit_distance(lower, b);
  });
  known.resize(kNearestListed);
  return " The nearest of " + count + " known: " + join(known) + ".";
}

}  // namespace

Error unknown_name(const std::string& what, const std::string& text, const std::vector<std::string>& known) {
  // A long word is cut before it is compared or shown: it may come from a damaged file.
  const std::string word = shown(text);
  const std::string near = near_name(word, known);
  return request_error("unknown " + what + " \"" + word + "\"" +
                       (near.empty() ? "." : "; did you mean \"" + near + "\"?") + known_text(word, known));
}

}  // namespace shardlens
