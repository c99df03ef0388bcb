// Where the documents of a corpus come from, and how a plain text is cut into documents.
//
//   *.jsonl, *.ndjson   one JSON object a line; its string "text" is a document
//   any other file      plain text. A document ends at a line <|endoftext|>, at the first blank line once it
//                       has 4 KiB, at the first line end once it has 8 KiB, and at the end of the file
//   a folder            every *.txt, *.jsonl and *.ndjson file in it and below, in the order of their paths
//   the word sample     the sample corpus: the King James Version as Debian's program `bible` prints it, a
//                       chapter a document, a verse a line
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardlens {

/// Receives one document and how many bytes of the source have been read so far.
using OnDocument = std::function<void(std::string document, int64_t bytes_read)>;

/// Reads all documents of one source, in order. Throws a request Error that names file and line for what
/// cannot be read.
void read_documents(const std::string& source, const OnDocument& on_document);

/// Throws a request Error where a source can be read only once, as a pipe can.
void require_many_reads(const std::string& source);

/// The files of a source (the word itself for the sample corpus); throws a request Error if there are none.
std::vector<std::string> source_files(const std::string& source);

/// What read_documents() will count up to; 0 if that is not known before.
int64_t source_bytes(const std::string& source);

}  // namespace shardlens
