// Reads the documents of a corpus, and cuts a plain text into documents.
//
//   JSON lines          one JSON object per line; its string "text" is a document. Told by the names *.jsonl
//                       and *.ndjson, and under any name by what the file begins with
//   any other file      plain text. A document ends at a line <|endoftext|>, at the first blank line after
//                       4 KiB, at the first line end after 8 KiB, and at the end of the file
//   a folder            every *.txt, *.jsonl and *.ndjson file in it and below, and every *.json file that
//                       holds JSON lines, in the order of their paths
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

/// Reads all documents of one source, in order. Returns what was left out, a sentence for each file with
/// lines that are no text and one for a folder's other files: whoever reads says it once. Throws a request
/// Error that names the file and the line of what is no text of these forms, and a run Error if a file cannot
/// be read to its end.
std::vector<std::string> read_documents(const std::string& source, const OnDocument& on_document);

/// Throws a request Error if a source can be read only once, for example a pipe.
void require_many_reads(const std::string& source);

/// The files of a source (the word itself for the sample corpus). Throws a request Error if there are none.
std::vector<std::string> source_files(const std::string& source);

/// The number of bytes that read_documents() will count; 0 if it is not known in advance.
int64_t source_bytes(const std::string& source);

}  // namespace shardlens
