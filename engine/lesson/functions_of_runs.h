// The functions that read a run; their rows are in the table of functions.cpp.
#pragma once

#include "engine/lesson/functions.h"

namespace shardlens {

inline constexpr int kLargestDegreeOfLesson = 4096;

Value value_of_run(const Arguments& arguments);
Value right_value_of_run(const Arguments& arguments);
Value error_of_run(const Arguments& arguments);
Value agrees_of_run(const Arguments& arguments);
Value first_wrong_of_run(const Arguments& arguments);
Value wrong_of_run(const Arguments& arguments);
Value compared_of_run(const Arguments& arguments);
Value ranks_agree_of_run(const Arguments& arguments);
Value found_by_of_run(const Arguments& arguments);
Value sees_of_run(const Arguments& arguments);
Value looks_healthy_of_run(const Arguments& arguments);
Value loss_of_run(const Arguments& arguments);
Value sound_loss_of_run(const Arguments& arguments);
Value time_of_run(const Arguments& arguments);
Value waited_of_run(const Arguments& arguments);
Value pass_time_of_run(const Arguments& arguments);
Value waiting_ranks_of_run(const Arguments& arguments);
Value lost_to_late_of_run(const Arguments& arguments);
Value predicted_time_of_plan(const Arguments& arguments);

}  // namespace shardlens
