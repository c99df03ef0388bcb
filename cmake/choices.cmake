# What is written more than once, and a build has one of: the kernels (kernels.cmake), what needs the platform
# (platform.cmake), and how workers run (engine/base/worker.h).
set(SHARDLENS_WORKERS threads CACHE STRING "What runs beside the window: threads, or turns on the window's own thread")
set_property(CACHE SHARDLENS_WORKERS PROPERTY STRINGS threads turns)
if(SHARDLENS_WORKERS STREQUAL "threads")
  set(other_workers turns)
elseif(SHARDLENS_WORKERS STREQUAL "turns")
  set(other_workers thread)
else()
  message(FATAL_ERROR "SHARDLENS_WORKERS is \"${SHARDLENS_WORKERS}\": choose threads or turns")
endif()

# Takes the files that are not chosen out of a list. Every list of files that were found by a pattern goes through here.
function(leave_out_other_choices list)
  set(files ${${list}})
  leave_out_other_kernels(files)
  leave_out_other_platforms(files)
  list(FILTER files EXCLUDE REGEX "/engine/base/worker_${other_workers}[.]cpp$")
  set(${list} ${files} PARENT_SCOPE)
endfunction()
