// Reads the documents of a corpus, and cuts a plain text into documents.
//
//   *.jsonl, *.ndjson   one JSON object per line; its string "text" is a document
//   any other file      plain text. A document ends at a line <|endoftext|>, at the first blank line after
//                       4 KiB, at the first line end after 8 KiB, and at the end of the file
//   a folder            every *.txt, *.jsonl and *.ndjson file in it and below, in the order of their paths
//   the word sample     the sample corpus: the King James Version as Debian's program `bible` prints it, one
//                       document per chapter, one line per verse
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardlens {

/// Receives one document, and the number of bytes of the source that have been read so far.
using OnDocument = std::function<void(std::string document, int64_t bytes_read)>;

/// Reads all documents of one source, in order. Throws a request Error that names the file and the line if it
/// cannot be read.
void read_documents(const std::string& source, const OnDocument& on_document);

/// Throws a request Error if a source can be read only once, for example a pipe.
void require_many_reads(const std::string& source);

/// The files of a source (the word itself for the sample corpus). Throws a request Error if there are none.
std::vector<std::string> source_files(const std::string& source);

/// The number of bytes that read_documents() will count; 0 if it is not known in advance.
int64_t source_bytes(const std::string& source);

}  // namespace shardlens
