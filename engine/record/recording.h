// A recording: what a run was and what happened in it, in one SQLite file that anybody's tools can read too.
// The Program is stored once; passes over it are rows of events by step id, so a recording is read like a
// run.
//
// Tables, all times in nanoseconds from the beginning of their pass:
//   meta(key, value)                       what was run, where, by what; totals as far as it is written
//   costs(rank, step, flops, sent_bytes)   planned, the same in every pass
//   memory(rank, kind, planned_bytes, high_water_bytes)
//   passes(pass, begin_ns, ns)             begin_ns: from the beginning of the recording
//   events(pass, rank, step, begin_ns, end_ns, arrival_ns, met_ns, sent_bytes)   the last three of
//                                          collectives only; the bytes as they were counted
//   holds(pass, rank, step, ns)            a rank stood still on purpose before a step began
//   metrics(pass, name, value)             loss, gradient norm and so on, units in the names
//   notes(id, ns, rank, step, text)        what people wrote into it afterwards; ns: from the beginning of
//   the
//                                          recording; rank and step -1: of all, of none
//   overview, waits                        the level of detail of its timeline: see overview.h
//   samples(pass, rank, tensor, min, max, mean, rms, not_finite, hash, picture)
//                                          of the first replica's ranks; hash: of all of the piece's bytes
//   parity(pass, tensor, relative_error, max_abs_error, bound, ranks_identical, picture)
//   pictures(picture, rows, cols, exact, data)   shared by all rows of equal content. exact 0: rows x cols
//                                          floats, row-major; 1: the piece's own bytes, of which a picture of
//                                          rows x cols is made
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/planner/memory_plan.h"
#include "engine/program/program.h"
#include "engine/record/sample.h"
#include "engine/record/tensor_parity.h"
#include "engine/record/trace.h"

namespace shardlens {

/// Whether a recording of this verb is of a training, begun by the command line ("train") or in the studio
/// ("studio train"): the text it learned is not in it.
inline bool is_training(const std::string& verb) {
  return verb.ends_with("train");
}

class Database;
class LiveLink;
class OverviewBuilder;
class RecordingFile;
class Statement;
enum class WriterState;

inline constexpr int64_t kRecordingId = 0x53484C44;    ///< application_id of the file: "SHLD"
inline constexpr int64_t kRecordingVersion = 3;        ///< user_version; a newer one is refused
inline constexpr int64_t kOldestRecordingVersion = 2;  ///< that can be read: its pictures are in fp32

/// What is known before the first pass.
struct RecordingHeader {
  std::string verb;     ///< what was run: "step", "train", "studio"
  std::string machine;  ///< "AMD EPYC, 2 cores"
  std::string communicator, communicator_reason;
  Program program;
  std::vector<MemoryPlan> memory;                ///< per rank of a replica
  std::vector<std::vector<int64_t>> step_flops;  ///< [rank of a replica][step]
  std::string pictures = "off";  ///< which tensors are pictured: "off", "all", "0.75 % of step time"
};

using Metric = std::pair<std::string, double>;

/// One pass over the Program, by every rank of every replica.
struct RecordedPass {
  double begin_seconds = 0;                    ///< from the beginning of the recording
  std::vector<std::vector<StepEvent>> events;  ///< [rank, replica by replica][step]; may be short
  std::vector<BytesByKind> high_water_bytes;   ///< [rank]
  std::vector<Metric> metrics;
  SampleTable samples;  ///< of the first replica; empty, or null where a tensor was not pictured in this pass
  ParityTable parity;   ///< empty: not compared
};

/// When a pass was made.
struct PassTime {
  double begin_seconds = 0;  ///< from the beginning of the recording
  double seconds = 0;        ///< how long its slowest rank took
  double end_seconds() const { return begin_seconds + seconds; }
};

/// What somebody wrote about a moment; a bookmark where the text is empty.
struct Note {
  int64_t id = 0;      ///< given by the file
  double seconds = 0;  ///< from the beginning of the recording
  int rank = -1;       ///< -1: of all
  StepId step = -1;    ///< -1: of the pass, not of a step
  std::string text;
  bool operator==(const Note&) const = default;
};
inline constexpr int64_t kMostNotes = 10'000;       ///< of a file; the rest is not shown
inline constexpr size_t kLongestNoteBytes = 4'000;  ///< of text; longer ones are cut

/// A piece of up to so many elements keeps its values in the file as they are; of a larger one the picture
/// is kept. As many as a picture has cells.
inline constexpr int64_t kRecordedExactElements = kPictureExtent * kPictureExtent;

struct RecordingLimits {
  int64_t file_bytes = int64_t{1} << 30;      ///< the file grows no further; pictures take half of it
  int64_t waiting_bytes = int64_t{64} << 20;  ///< of passes that wait for the disk
};

struct RecordingTotals {
  int64_t passes = 0, events = 0;
  int64_t samples = 0;   ///< tensors with statistics and a hash, counted on every rank and in every pass
  int64_t pictures = 0;  ///< of different content
  int64_t dropped_passes = 0;    ///< offered, and not in the file
  int64_t dropped_pictures = 0;  ///< offered, and not in the file: see kWhyPicturesAreDropped
  std::string problem;           ///< why they were dropped; empty: nothing was
};

inline constexpr const char* kWhyPicturesAreDropped =
    "they take half of the file's limit at most, and none waits where the disk is slower than the run";

/// What is known of tensors in one pass, and from which pass it is.
struct LatestSamples {
  SampleTable samples;                       ///< null: not asked for, or never sampled
  std::vector<std::vector<int64_t>> passes;  ///< [rank][tensor]: the pass it was sampled in; -1: none
};

/// Of tensors of one pass, [rank][tensor]; none where it was not sampled.
using HashTable = std::vector<std::vector<std::optional<uint64_t>>>;

/// `wanted`, or with -2, -3, … before its ending the first name that nothing has yet.
std::string free_recording_path(const std::filesystem::path& wanted);

/// What the writer of a recording makes, given by that one's name or path: itself, and SQLite's journal,
/// which is gone when it is done.
std::vector<std::string> files_of_recording(const std::string& recording);

/// Writes a recording from a thread of its own: offer() never waits for the disk. What is written is
/// committed a few times a second, so a run killed at any moment leaves a file that opens and holds all but
/// the last moment, and a Recording of it can be read meanwhile.
class RecordingWriter {
 public:
  /// Creates the file; throws a request Error when it is there already or cannot be made.
  RecordingWriter(const std::string& path, const RecordingHeader& header, RecordingLimits limits = {});
  ~RecordingWriter();  ///< finish()
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  /// Takes a pass, or drops and counts it where the disk is behind, full, or the file has its size. What is
  /// wrong with the disk is never an error of the run.
  void offer(RecordedPass pass);
  /// What is in the file by now, and its size.
  RecordingTotals totals() const;
  int64_t file_bytes() const;
  bool is_settled() const;  ///< nothing waits to be written
  /// What the writer's thread has had of a processor so far, in seconds, and what that is for each sample; 0
  /// before the first.
  double worked_seconds() const;
  double seconds_per_sample() const;
  /// Writes what waits, the totals, and what ended the run before it was done; nothing did where `failure` is
  /// empty. Nothing is taken afterwards.
  RecordingTotals finish(const std::string& failure = {});

 private:
  void main();
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
  std::unique_ptr<LiveLink> link_;      ///< there before the file, and until it is closed
  std::unique_ptr<Database> database_;  ///< the thread's own while it runs
  std::unique_ptr<Pictures> pictures_;
  std::unique_ptr<OverviewBuilder> overview_;  ///< null: it could not be kept up
  int64_t next_pass_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RecordedPass> waiting_;
  int64_t waiting_bytes_ = 0;
  int64_t file_bytes_ = 0;
  RecordingTotals totals_;
  double worked_seconds_ = 0;  ///< of a processor
  bool ending_ = false;
  std::thread thread_;
};

/// A recording opened for reading, also while it is written: then what is asked for is what was committed by
/// the time of asking, and the run that writes is never held up. Reads what is asked for and no more. Every
/// reading function throws a request Error that names the file where its content is not what a recording
/// holds.
class Recording {
 public:
  /// Throws a request Error for a file that is no recording, was written by a newer version, or is damaged.
  explicit Recording(const std::string& path);
  ~Recording();

  const RecordingHeader& header() const { return header_; }  ///< memory: bytes by kind only
  bool finished() const;                                     ///< false: the run was killed, or still records
  std::string failure() const;  ///< what ended it before it was done; empty: nothing did, as far as it knew
  WriterState writer() const;   ///< looked at anew; Gone: nobody writes, and never will
  /// Of one that is being written: the moment of the last commit, by now_seconds(), and a number that rises
  /// with every commit.
  double committed_seconds() const;
  uint64_t generation() const;
  RecordingTotals totals() const;
  double started_unix_seconds() const { return started_unix_seconds_; }

  /// Pass `index`, from 0, without samples and parity.
  RecordedPass pass(int64_t index) const;
  /// What was sampled in pass `index`, as the run itself showed it: [rank of a replica][tensor], null where a
  /// tensor was not. A sample whose picture was dropped has none.
  SampleTable samples(int64_t index) const;
  /// The newest samples that pass `index` has, or one of the passes shortly before it, or else the first
  /// pass, of the tensors that are `wanted` (by TensorId). What `known` has already is taken from there.
  /// Pictures and values take `most_bytes` together; where they would take more, the rest is coarse.
  LatestSamples latest_samples(int64_t index, const std::vector<bool>& wanted, const LatestSamples& known,
                               int64_t most_bytes) const;
  /// Their hashes alone, which are read much faster.
  HashTable hashes(int64_t index) const;
  /// Pass `index` against the run on one rank; empty where it was not compared.
  ParityTable parity(int64_t index) const;
  /// The same, with the pictures of these tensors alone (by TensorId).
  ParityTable parity(int64_t index, const std::vector<bool>& pictured) const;
  /// High-water by kind on each rank, measured.
  std::vector<BytesByKind> high_water_bytes() const;
  int ranks() const { return header_.program.ranks() * header_.program.replicas(); }

  /// Passes in the file; their numbers are 0 to that.
  int64_t passes() const;
  PassTime pass_time(int64_t index) const;
  /// The metrics of passes `first`, `first` + `stride`, … before `last`: take(pass, name, value), NaN where
  /// the value was not finite.
  void metrics(int64_t first, int64_t last, int64_t stride,
               const std::function<void(int64_t, const std::string&, double)>& take) const;

  /// In the order of their moments.
  std::vector<Note> notes() const;
  /// Each is in the file when it returns, and throws a run Error where the file cannot be written, as while a
  /// run writes it. add() returns the note with its id.
  Note add_note(Note note);
  void edit_note(int64_t id, const std::string& text);
  void remove_note(int64_t id);

 private:
  /// By tensor, picture and hash: ranks that hold the same share one sample, as they do in a run.
  using SharedSamples = std::map<std::tuple<int64_t, int64_t, int64_t>, std::shared_ptr<const TensorSample>>;

  std::string text(Database& database, const std::string& key) const;
  void read_header();
  RecordingTotals read_totals(Database& database) const;
  RecordedPass read_pass(Database& database, int64_t index) const;
  std::vector<Note> read_notes(Database& database) const;
  SampleTable read_samples(Database& database, int64_t index) const;
  HashTable read_hashes(Database& database, int64_t index) const;
  ParityTable read_parity(Database& database, int64_t index, const std::vector<bool>& pictured) const;
  void find_samples(Database& database, int64_t from, int64_t to, const std::vector<bool>& wanted,
                    std::vector<std::vector<int64_t>>& passes) const;
  std::vector<BytesByKind> memory_of(const char* column, const char* what) const;
  int64_t within(int64_t value, int64_t most,
                 const char* of) const;  ///< throws unless it is from 0 to `most`
  double seconds_of(int64_t nanoseconds) const;
  void check_cell(int64_t rank, int64_t tensor, const char* of) const;
  Picture picture_of(const Statement& row, int column, MatrixShape matrix) const;
  std::shared_ptr<const TensorSample> read_sample(const Statement& rows, SharedSamples& shared) const;
  [[noreturn]] void damaged(const std::string& what) const;

  std::unique_ptr<RecordingFile> file_;
  RecordingHeader header_;
  double started_unix_seconds_ = 0;
};

}  // namespace shardlens
