#include "app/cli/gzip.h"

#include <zlib.h>

#include "engine/base/error.h"

namespace shardlens::cli {

std::string gzip(const std::string& bytes) {
  constexpr int kLargestWindow = 15, kWithHeader = 16, kMemory = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kLargestWindow + kWithHeader, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw run_error("there is not enough memory to pack a file");
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int done = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) throw run_error("a file of more than 4 GB does not fit into a page");
  return packed;
}

}  // namespace shardlens::cli
