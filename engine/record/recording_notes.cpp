// Reads what needs no events of a recording: the times of its passes, their metrics, and the notes that
// people added. Notes are the only thing that a reader writes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/config/error.h"
#include "engine/config/utf8.h"
#include "engine/io/sqlite.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"

namespace shardlens {
namespace {

constexpr double kNoteSeconds = 1e-9;    // the unit of the ns column
constexpr int64_t kPassesAtOnce = 1024;  // passes whose metrics are read at once

int64_t note_nanoseconds(double seconds) {
  constexpr double kMost = 9e9;  // seconds that nanoseconds can count
  return std::isfinite(seconds) ? std::llround(std::clamp(seconds, 0.0, kMost) * 1e9) : 0;
}

std::string cut(const std::string& text) {
  if (text.size() <= kLongestNoteBytes) return text;
  size_t end = kLongestNoteBytes;
  while (end > 0 && is_inside_character(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace

int64_t Recording::passes() const {
  return file_->read([this](Database& database) -> int64_t {
    const int64_t count = database.integer("SELECT count(*) FROM passes");
    if (count == 0) return 0;
    const int64_t first = database.integer("SELECT min(pass) FROM passes"),
                  last = database.integer("SELECT max(pass) FROM passes");
    if (first != 0 || last != count - 1)
      damaged(fmt::format("it holds {} passes, but they are numbered {} to {}", count, first, last));
    return count;
  });
}

PassTime Recording::pass_time(int64_t index) const {
  return file_->read([&](Database& database) -> PassTime {
    Statement row = database.prepare("SELECT begin_ns, ns FROM passes WHERE pass = ?");
    row.bind(1, index);
    if (!row.step()) throw request_error(fmt::format("{} has no pass {}", file_->path(), index));
    return {seconds_of(row.integer(0)), seconds_of(row.integer(1))};
  });
}

void Recording::metrics(int64_t first, int64_t last, int64_t stride,
                        const std::function<void(int64_t, const std::string&, double)>& take) const {
  struct Value {
    int64_t pass;
    std::string name;
    double value;
  };
  const auto read = [](Statement& rows, std::vector<Value>& values) {
    while (rows.step()) values.push_back({rows.integer(0), rows.text(1), rows.number(2)});
  };
  for (int64_t begin = first; begin < last; begin += kPassesAtOnce * stride) {
    const int64_t end = std::min(last, begin + kPassesAtOnce * stride);
    const std::vector<Value> values = file_->read([&](Database& database) {
      std::vector<Value> found;
      if (stride == 1) {
        Statement rows = database.prepare(
            "SELECT pass, name, value FROM metrics WHERE pass >= ? AND pass < ? ORDER BY pass, name");
        rows.bind(1, begin).bind(2, end);
        read(rows, found);
        return found;
      }
      Statement rows = database.prepare("SELECT pass, name, value FROM metrics WHERE pass = ? ORDER BY name");
      for (int64_t pass = begin; pass < end; pass += stride) {
        rows.bind(1, pass);
        read(rows, found);
        rows.reset();
      }
      return found;
    });
    for (const Value& one : values) take(one.pass, one.name, one.value);
  }
}

std::vector<Note> Recording::notes() const {
  return file_->read([this](Database& database) { return read_notes(database); });
}

std::vector<Note> Recording::read_notes(Database& database) const {
  Statement rows = database.prepare("SELECT id, ns, rank, step, text FROM notes ORDER BY ns, id LIMIT ?");
  rows.bind(1, kMostNotes);
  std::vector<Note> notes;
  const auto steps = static_cast<int64_t>(header_.program.steps.size());
  while (rows.step()) {
    Note note;
    note.id = rows.integer(0);
    note.seconds = std::max(0.0, static_cast<double>(rows.integer(1)) * kNoteSeconds);
    const int64_t rank = rows.integer(2), step = rows.integer(3);
    // A note about a rank or a step that does not exist is still worth reading.
    note.rank = rank >= 0 && rank < ranks() ? static_cast<int>(rank) : -1;
    note.step = step >= 0 && step < steps ? static_cast<StepId>(step) : -1;
    note.text = cut(rows.text(4));
    notes.push_back(std::move(note));
  }
  return notes;
}

Note Recording::add_note(Note note) {
  note.text = cut(note.text);
  Database& database = file_->own();
  database.prepare("INSERT INTO notes(ns, rank, step, text) VALUES(?, ?, ?, ?)")
      .bind(1, note_nanoseconds(note.seconds))
      .bind(2, int64_t{note.rank})
      .bind(3, int64_t{note.step})
      .bind(4, std::string_view(note.text))
      .run();
  note.id = database.integer("SELECT last_insert_rowid()");
  return note;
}

void Recording::edit_note(int64_t id, const std::string& text) {
  const std::string kept = cut(text);
  file_->own()
      .prepare("UPDATE notes SET text = ? WHERE id = ?")
      .bind(1, std::string_view(kept))
      .bind(2, id)
      .run();
}

void Recording::remove_note(int64_t id) {
  file_->own().prepare("DELETE FROM notes WHERE id = ?").bind(1, id).run();
}

}  // namespace shardlens
