# What names the interface between the program and its plug-ins (engine/base/plugin_version.cpp): a hash of the
# headers through which they pass objects to each other, of the sources that both compile, and of every header of ours
# that those include.
include("${CMAKE_CURRENT_LIST_DIR}/hash_files.cmake")

# Files of the list `roots`, relative to the folder `root`, and all that they include as "engine/…", in an order that
# does not depend on who includes whom.
function(plugin_interface_files root roots result)
  set(found "")
  set(open ${roots})
  while(open)
    list(POP_FRONT open file)
    if(file IN_LIST found)
      continue()
    endif()
    list(APPEND found "${file}")
    file(STRINGS "${root}/${file}" includes REGEX "^#include \"engine/")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" include "${include}")
      list(APPEND open "${include}")
    endforeach()
  endwhile()
  list(SORT found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()
