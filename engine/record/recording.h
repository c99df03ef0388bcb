// A recording: what a run was and what happened in it, in one SQLite file that other tools can read too. The
// Program is stored once. Passes over it are rows of events by step id, so a recording is read like a run.
//
// Tables, with all times in nanoseconds from the beginning of their pass:
//   meta(key, value)                       what was run, where and by what; totals of what is written so far
//   costs(rank, step, flops, sent_bytes)   planned, the same in every pass
//   memory(rank, kind, planned_bytes, high_water_bytes)
//   passes(pass, begin_ns, ns)             begin_ns: from the beginning of the recording
//   events(pass, rank, step, begin_ns, end_ns, arrival_ns, met_ns, sent_bytes)   the last three for
//                                          collectives only; the bytes are counted, not planned
//   holds(pass, rank, step, ns)            a rank was delayed on purpose before a step began
//   together(pass, rank, step, steps)      the device did so many steps, from `step` on, with one call, and
//                                          only their time together was measured; newer than the first
//                                          recordings
//   untraced(pass)                         passes whose steps were not timed, on purpose: of these there are
//   no
//                                          events, only ns; newer than the first recordings
//   metrics(pass, name, value)             loss, gradient norm and so on, units in the names
//   notes(id, ns, rank, step, text)        notes that people added later; ns: from the beginning of the
//                                          recording; rank -1: all ranks; step -1: no step
//   overview, waits                        the level of detail of its timeline: see overview.h
//   samples(pass, rank, tensor, min, max, mean, rms, not_finite, hash, picture)
//                                          of the first replica's ranks; hash: of all of the piece's bytes
//   parity(pass, tensor, relative_error, max_abs_error, bound, ranks_identical, picture, to_terms, replica,
//          rank)                           the last three: newer than the first recordings
//   pictures(picture, rows, cols, exact, data)   shared by all rows of equal content. exact 0: rows x cols
//                                          floats, row-major; 1: the piece's own bytes, of which a picture of
//                                          rows x cols is made
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/job.h"
#include "engine/base/worker.h"
#include "engine/planner/memory_plan.h"
#include "engine/program/program.h"
#include "engine/record/sample.h"
#include "engine/record/tensor_parity.h"
#include "engine/record/trace.h"

namespace shardlens {

/// True if the verb is that of a training run, started by the command line ("train") or in the studio
/// ("studio train"). The training text is not in the recording.
inline bool is_training(const std::string& verb) {
  return verb.ends_with("train");
}

class Database;
class LiveLink;
class OverviewBuilder;
class RecordingFile;
enum class WriterState;

inline constexpr int64_t kRecordingId = 0x53484C44;    ///< application_id of the file: "SHLD"
inline constexpr int64_t kRecordingVersion = 3;        ///< user_version; a newer one is refused
inline constexpr int64_t kOldestRecordingVersion = 2;  ///< still readable; its pictures are in fp32

/// What is known before the first pass.
struct RecordingHeader {
  std::string verb;     ///< what was run: "step", "train", "studio"
  std::string machine;  ///< "AMD EPYC, 2 cores"
  std::string communicator, communicator_reason;
  Program program;
  std::vector<MemoryPlan> memory;                ///< per rank of a replica
  std::vector<std::vector<int64_t>> step_flops;  ///< [rank of a replica][step]
  std::string pictures = "off";  ///< which tensors are pictured: "off", "all", "0.75 % of step time"
  /// Of the clock that timed it (engine/base/clock_step.h); 0: finer than anything that is timed.
  double clock_step_seconds = 0;
};

using Metric = std::pair<std::string, double>;

/// One pass over the Program, by every rank of every replica.
struct RecordedPass {
  double begin_seconds = 0;                    ///< from the beginning of the recording
  std::vector<std::vector<StepEvent>> events;  ///< [world rank][step]; may be short
  std::vector<BytesByKind> high_water_bytes;   ///< [rank]
  std::vector<Metric> metrics;
  /// The time of a pass whose steps were not timed: it has no events. Nothing: it was traced.
  std::optional<double> untraced_seconds;
  SampleTable samples;  ///< of the first replica; empty, or null if a tensor was not pictured in this pass
  ParityTable parity;   ///< empty: not compared
};

/// The time of the slowest rank, or of the whole pass if it was not traced.
double seconds_of(const RecordedPass& pass);

/// The time of a pass.
struct PassTime {
  double begin_seconds = 0;  ///< from the beginning of the recording
  double seconds = 0;        ///< see seconds_of()
  double end_seconds() const { return begin_seconds + seconds; }
};

/// A note that a person wrote about a moment. If the text is empty, it is a bookmark.
struct Note {
  int64_t id = 0;      ///< given by the file
  double seconds = 0;  ///< from the beginning of the recording
  int rank = -1;       ///< -1: all ranks
  StepId step = -1;    ///< -1: the whole pass
  std::string text;
  bool operator==(const Note&) const = default;
};
inline constexpr int64_t kMostNotes = 10'000;       ///< per file; the rest is not shown
inline constexpr size_t kLongestNoteBytes = 4'000;  ///< of text; a longer text is cut

/// A piece of at most this many elements keeps its exact values in the file. For a larger piece only its
/// picture is kept. This is as many elements as a picture has cells.
inline constexpr int64_t kRecordedExactElements = kPictureExtent * kPictureExtent;

struct RecordingLimits {
  int64_t file_bytes = int64_t{1} << 30;  ///< the largest size of the file; pictures take at most half of it
  int64_t waiting_bytes = int64_t{64} << 20;  ///< the most bytes of passes that wait for the disk
};

struct RecordingTotals {
  int64_t passes = 0, events = 0;
  int64_t samples = 0;           ///< tensors with statistics and a hash, counted per rank and pass
  int64_t pictures = 0;          ///< pictures of different content
  int64_t dropped_passes = 0;    ///< offered but not in the file
  int64_t dropped_pictures = 0;  ///< offered but not in the file: see kWhyPicturesAreDropped
  std::string problem;           ///< why they were dropped; empty: none was
};

inline constexpr const char* kWhyPicturesAreDropped =
    "pictures take at most half of the file's limit, and they do not wait for a disk that is slower than the "
    "run";

/// The newest samples of tensors at one pass, and the pass that each is from.
struct LatestSamples {
  SampleTable samples;                       ///< null: not wanted, or never sampled
  std::vector<std::vector<int64_t>> passes;  ///< [rank][tensor]: the pass it was sampled in; -1: none
};

/// The hashes of tensors in one pass, [rank][tensor]; none if a tensor was not sampled.
using HashTable = std::vector<std::vector<std::optional<uint64_t>>>;

/// Returns `wanted`, or the first free name with -2, -3, … before its extension.
std::string free_recording_path(const std::filesystem::path& wanted);

/// The files that the writer of a recording makes, by the recording's name or path: the recording itself, and
/// SQLite's journal, which is deleted at the end.
std::vector<std::string> files_of_recording(const std::string& recording);

/// Writes a recording by a worker of its own: offer() never waits for the disk. The worker commits a few
/// times a second. So a run that is killed at any moment leaves a file that opens and holds all but the last
/// moment, and a Recording can read it while it is written.
class RecordingWriter {
 public:
  /// Creates the file. Throws a request Error if it exists already or cannot be made.
  RecordingWriter(const std::string& path, const RecordingHeader& header, RecordingLimits limits = {});
  ~RecordingWriter();  ///< finish()
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  /// Takes a pass, or drops and counts it if the disk is too slow or full, or if the file has its largest
  /// size. A problem with the disk is never an error of the run.
  void offer(RecordedPass pass);
  /// What is in the file now, and its size.
  RecordingTotals totals() const;
  int64_t file_bytes() const;
  bool is_settled() const;  ///< nothing waits to be written
  /// The processor time of the writer's worker so far, in seconds, and that time per sample; 0 before the
  /// first sample.
  double worked_seconds() const;
  double seconds_per_sample() const;
  /// Writes the waiting passes, the totals, and the reason if the run ended early (`failure` is empty if it
  /// did not). Nothing is taken afterwards.
  RecordingTotals finish(const std::string& failure = {});

 private:
  NextTurn turn();
  void begin_batch();
  Job<> write_batch(std::deque<RecordedPass> batch, int64_t bytes, RecordingTotals reached);
  void write_header(const RecordingHeader& header);
  void write(const RecordedPass& pass, RecordingTotals& added);
  void write_samples(const RecordedPass& pass, int64_t number, RecordingTotals& added);
  void write_parity(const RecordedPass& pass, int64_t number, RecordingTotals& added);
  void write_totals(const RecordingTotals& totals);
  void commit();
  void add_to_overview(int64_t number, const RecordedPass& pass);
  class Pictures;

  const int ranks_, replicas_;
  RecordingLimits limits_;
  const Program program_;
  std::unique_ptr<LiveLink> link_;      ///< exists before the file, and until it is closed
  std::unique_ptr<Database> database_;  ///< the worker's own while it runs
  std::unique_ptr<Pictures> pictures_;
  std::unique_ptr<OverviewBuilder> overview_;  ///< null: building it failed
  int64_t next_pass_ = 0;

  std::optional<Job<>> batch_;    ///< what is left to write of the present one; only the worker's
  double batch_due_seconds_ = 0;  ///< when the waiting passes are to be written; 0: none waited
  double working_seconds_ = 0, piece_began_seconds_ = 0;  ///< processor time, as worked_seconds_

  mutable std::mutex mutex_;
  std::deque<RecordedPass> waiting_;
  int64_t waiting_bytes_ = 0;
  int64_t file_bytes_ = 0;
  RecordingTotals totals_;
  double worked_seconds_ = 0;  ///< processor time
  bool ending_ = false;
  BackgroundWorker worker_;
};

/// A recording that is opened for reading, also while it is written. Then each function reads what was
/// committed up to its call, and the run that writes is never held up. Reads only what is requested. Every
/// reading function throws a request Error that names the file if its content is not that of a recording.
class Recording {
 public:
  /// Throws a request Error if the file is no recording, was written by a newer version, or is damaged.
  explicit Recording(const std::string& path);
  ~Recording();

  const RecordingHeader& header() const { return header_; }  ///< memory: bytes by kind only
  bool finished() const;                                     ///< false: the run was killed, or still records
  std::string failure() const;  ///< the reason if the run ended early; empty: none was recorded
  WriterState writer() const;   ///< checked again; Gone: nothing writes the file, and never will
  /// For a recording that is being written: the time of the last commit, by now_seconds(), and a number that
  /// rises with every commit.
  double committed_seconds() const;
  uint64_t generation() const;
  RecordingTotals totals() const;
  double started_unix_seconds() const { return started_unix_seconds_; }

  /// Pass `index`, from 0, without samples and parity.
  RecordedPass pass(int64_t index) const;
  /// The samples of pass `index`, as the run itself showed them: [rank of a replica][tensor], null if a
  /// tensor was not sampled. A sample whose picture was dropped has none.
  SampleTable samples(int64_t index) const;
  /// The newest samples of the `wanted` tensors (by TensorId): from pass `index`, from one of the passes
  /// shortly before it, or else from the first pass. Samples that `known` already has are taken from there.
  /// Pictures and values take `most_bytes` together; if they would take more, the rest is coarse.
  LatestSamples latest_samples(int64_t index, const std::vector<bool>& wanted, const LatestSamples& known,
                               int64_t most_bytes) const;
  /// Only the hashes of pass `index`, which are read much faster.
  HashTable hashes(int64_t index) const;
  /// Pass `index` compared with the run on one rank; empty if it was not compared.
  ParityTable parity(int64_t index) const;
  /// The same, with only the pictures of these tensors (by TensorId).
  ParityTable parity(int64_t index, const std::vector<bool>& pictured) const;
  /// High-water by kind on each rank, measured.
  std::vector<BytesByKind> high_water_bytes() const;
  int world_size() const { return header_.program.tp() * header_.program.dp(); }

  /// The number of passes in the file; they are numbered from 0.
  int64_t passes() const;
  PassTime pass_time(int64_t index) const;
  /// The passes whose steps were not timed, in order.
  std::vector<int64_t> untraced_passes() const;
  /// The metrics of passes `first`, `first` + `stride`, … before `last`: take(pass, name, value), NaN where
  /// the value was not finite.
  void metrics(int64_t first, int64_t last, int64_t stride,
               const std::function<void(int64_t, const std::string&, double)>& take) const;

  /// The notes in the order of time.
  std::vector<Note> notes() const;
  /// These change the notes. The change is in the file when the function returns. Throws a run Error if the
  /// file cannot be written, for example while a run writes it. add_note() returns the note with its id.
  Note add_note(Note note);
  void edit_note(int64_t id, const std::string& text);
  void remove_note(int64_t id);

 private:
  std::string text(Database& database, const std::string& key) const;
  void read_header();
  RecordingTotals read_totals(Database& database) const;
  RecordedPass read_pass(Database& database, int64_t index) const;
  void read_together(Database& database, int64_t index, RecordedPass& pass) const;
  std::vector<Note> read_notes(Database& database) const;
  std::vector<BytesByKind> memory_of(const char* column, const char* what) const;
  int64_t within(int64_t value, int64_t most,
                 const char* of) const;  ///< throws unless it is from 0 to `most`
  double seconds_of(int64_t nanoseconds) const;

  std::unique_ptr<RecordingFile> file_;
  RecordingHeader header_;
  double started_unix_seconds_ = 0;
};

}  // namespace shardlens
