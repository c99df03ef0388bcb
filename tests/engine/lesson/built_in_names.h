// For tests that run once for each built-in lesson.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/lesson/built_in.h"

namespace shardlens::testing {

inline std::vector<std::string> built_in_names() {
  std::vector<std::string> names;
  for (const auto& lesson : built_in_lessons()) names.push_back(lesson->name);
  return names;
}

/// A lesson's name as a test may be called.
inline std::string test_name(const ::testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::erase(name, '-');
  return name;
}

}  // namespace shardlens::testing
