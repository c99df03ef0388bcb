# Where the programs run, which decides about some files: NAME_linux.cpp is compiled for a desktop or a server, and
# NAME_web.cpp, of the same header, for a page in a browser. A page has no SentencePiece.
set(SHARDLENS_PLATFORM linux CACHE STRING "Where the programs run: linux, or web (app/web.sh)")
set_property(CACHE SHARDLENS_PLATFORM PROPERTY STRINGS linux web)
if(NOT SHARDLENS_PLATFORM MATCHES "^(linux|web)$")
  message(FATAL_ERROR "SHARDLENS_PLATFORM is '${SHARDLENS_PLATFORM}': choose linux or web")
endif()

function(leave_out_other_platforms list)
  set(files ${${list}})
  if(SHARDLENS_PLATFORM STREQUAL "web")
    list(FILTER files EXCLUDE REGEX "_linux[.]cpp$|/tokenizer/(sentencepiece_(model|tokenizer|training)|wordpiece_training)[.]cpp$")
  else()
    list(FILTER files EXCLUDE REGEX "_web[.]cpp$|/tokenizer/sentencepiece_none[.]cpp$")
  endif()
  set(${list} ${files} PARENT_SCOPE)
endfunction()
