# The hash of a list of files, given relative to the folder `root`: of their names and contents, in the list's order.
# Twelve digits, the same wherever the folder lies.
function(hash_files root files result)
  set(all "")
  foreach(file IN LISTS files)
    file(SHA256 "${root}/${file}" hash)
    string(APPEND all "${file} ${hash}\n")
  endforeach()
  string(SHA256 hash "${all}")
  string(SUBSTRING "${hash}" 0 12 hash)
  set(${result} "${hash}" PARENT_SCOPE)
endfunction()
