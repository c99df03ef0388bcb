// The three standard streams of a program: what happens if one is missing, full or no longer read, and which
// bytes reach a terminal.
#pragma once

#include <cstdio>

namespace shardlens::cli {

/// Prepares the standard streams. Call it first in main.
///
/// A closed stream is opened as /dev/null, as a daemon has it. Otherwise the next opened file would get its
/// number, and printed text would go into it.
///
/// Printing never fails and never throws. When text cannot be written (a full disk, a pipe whose reader has
/// gone), the run goes on, so that what it computes is still saved. What cannot be printed on stdout is said
/// once on stderr, and standard_output_failed() tells main.
///
/// On stderr, and on stdout if that is a terminal, control characters and bytes that are not UTF-8 are shown
/// escaped (engine/base/shown.h). A stdout that is a file or a pipe gets the bytes as they are.
void prepare_standard_streams();

/// True if some text could not be written to stdout. Flush it first.
bool standard_output_failed();

/// True if stdout or stderr is a terminal for a person. Under mpirun none is: it gives its processes a
/// terminal even when it prints to a file.
bool is_terminal(FILE* stream);

/// The file number of stdout or stderr.
int file_number(FILE* stream);

}  // namespace shardlens::cli
