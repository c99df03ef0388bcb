// `bench timeline`: a recording with random times, as long as wanted, and the time that its timeline takes.
#pragma once

#include <cstdint>
#include <string>

#include "engine/config/settings.h"

namespace shardlens::cli {

struct TimelineWish {
  int64_t events = 1'000'000;
  int file_mib = 0;  ///< 0: no pictures
  int views = 200;
  std::string out;  ///< empty: the recording is deleted
};
int print_timeline(const Settings& settings, const TimelineWish& wish, bool json);

}  // namespace shardlens::cli
