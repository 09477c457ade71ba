#include "perf/sge_sweep/report.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace sge_sweep {

namespace {

using nlohmann::json;

// The rows of one shape, by (way, SGEs, segment).
class Table {
 public:
  Table(const Results& results, Shape shape) {
    for (const Row& row : results.rows) {
      if (row.what.shape != shape) continue;
      rows_[{row.what.way, row.what.sges, row.what.segment_bytes}] = row.mb_s();
      counts_.push_back(row.what.sges);
      sizes_.push_back(row.what.segment_bytes);
    }
    for (auto* values : {&counts_, &sizes_}) {
      std::sort(values->begin(), values->end());
      values->erase(std::unique(values->begin(), values->end()), values->end());
    }
  }
  const std::vector<uint32_t>& counts() const { return counts_; }
  const std::vector<uint32_t>& sizes() const { return sizes_; }
  // 0 where nothing was measured.
  double mb_s(Way way, uint32_t sges, uint32_t bytes) const {
    const auto found = rows_.find({way, sges, bytes});
    return found == rows_.end() ? 0 : found->second;
  }
  double ratio(Way one, Way other, uint32_t sges, uint32_t bytes) const {
    const double below = mb_s(other, sges, bytes);
    return below > 0 ? mb_s(one, sges, bytes) / below : 0;
  }

 private:
  std::map<std::tuple<Way, uint32_t, uint32_t>, double> rows_;
  std::vector<uint32_t> counts_, sizes_;
};

std::string line_of_counts(const Table& table) {
  std::string line = "  segment";
  for (uint32_t sges : table.counts()) line += fmt::format("{:>8}", sges);
  return line + "  SGEs a WR\n";
}

std::string throughput(const Table& table, Shape shape) {
  std::string text =
      fmt::format("\n{}: MB/s by WRs of SGEs\n{}", name_of(shape), line_of_counts(table));
  for (uint32_t bytes : table.sizes()) {
    text += fmt::format("{:>9}", bytes);
    for (uint32_t sges : table.counts())
      text += fmt::format("{:>8.2f}", table.mb_s(Way::sgl, sges, bytes));
    text += "\n";
  }
  return text;
}

// Winners with a margin, since neighbouring runs differ by some percent.
constexpr double kMargin = 1.05;

std::string against(const Table& table, Shape shape, Way other, const char* what) {
  std::string text = fmt::format("\n{}: SGL over {} (above 1 SGL is faster)\n{}", name_of(shape),
                                 what, line_of_counts(table));
  for (uint32_t bytes : table.sizes()) {
    text += fmt::format("{:>9}", bytes);
    double product = 1;
    int wins = 0, losses = 0, count = 0;
    for (uint32_t sges : table.counts()) {
      const double ratio = table.ratio(Way::sgl, other, sges, bytes);
      text += fmt::format("{:>8.2f}", ratio);
      if (ratio <= 0) continue;
      product *= ratio;
      count++;
      wins += ratio > kMargin;
      losses += ratio < 1 / kMargin;
    }
    const char* verdict = wins == count        ? "SGL wins"
                          : losses == count    ? "SGL loses"
                          : wins + losses == 0 ? "equal"
                                               : "it depends";
    text += count == 0 ? "\n" : fmt::format("  {}\n", verdict);
  }
  return text;
}

uint32_t best_count(const Table& table, uint32_t bytes) {
  uint32_t best = 1;
  for (uint32_t sges : table.counts()) {
    if (table.mb_s(Way::sgl, sges, bytes) > table.mb_s(Way::sgl, best, bytes)) best = sges;
  }
  return best;
}

// The smallest segment from which on SGL is no slower than packing, with `sges` a WR.
std::string crossover(const Table& table, uint32_t sges) {
  std::string from = "never";
  for (auto bytes = table.sizes().rbegin(); bytes != table.sizes().rend(); ++bytes) {
    if (table.ratio(Way::sgl, Way::packed, sges, *bytes) < 1) break;
    from = fmt::format("from {} bytes on", *bytes);
  }
  return from;
}

std::string claims(const Table& table, Shape shape) {
  std::string text = fmt::format("\n{}: the claims\n", name_of(shape));
  for (uint32_t bytes : table.sizes()) {
    const double one = table.mb_s(Way::sgl, 1, bytes), eight = table.mb_s(Way::sgl, 8, bytes);
    const uint32_t best = best_count(table, bytes);
    const double best_mb_s = table.mb_s(Way::sgl, best, bytes);
    if (one <= 0 || eight <= 0) continue;
    text += fmt::format(
        "{:>9}  from 1 to 8 SGEs x{:.2f} of a linear 8 ({}); best {} SGEs, 8 reach {:.0f} % of "
        "it\n",
        bytes, eight / one, eight / one >= 6 ? "near-linear" : "not near-linear", best,
        100 * eight / best_mb_s);
  }
  for (uint32_t sges : {4U, 8U}) {
    text += fmt::format("  with {} SGEs a WR, SGL is no slower than packing: {}\n", sges,
                        crossover(table, sges));
  }
  return text;
}

std::string scenarios(const Results& results) {
  std::string text;
  if (!results.pieces.empty()) {
    text +=
        "\n1 MB in pieces, gathered by writes: us\n   pieces    copy + send   SGL of 8   SGL is "
        "faster by\n";
  }
  for (const PiecesRow& row : results.pieces) {
    text +=
        fmt::format("{:>9}{:>15.0f}{:>11.0f}{:>13.2f}\n", row.pieces, row.copied.timing.ns / 1e3,
                    row.listed.timing.ns / 1e3, row.copied.timing.ns / row.listed.timing.ns);
  }
  if (!results.storage.empty()) {
    text += fmt::format(
        "\n64-byte command and 4 KiB block, 70 % reads, {} blocks\n"
        "                operations/s   CPU us an operation\n",
        results.storage.front().blocks);
  }
  for (const StorageRow& row : results.storage) {
    text += fmt::format("  {:<12}{:>14.0f}{:>22.1f}\n", name_of(row.way), row.operations_s(),
                        row.cpu_us_each());
  }
  return text;
}

}  // namespace

std::string report(const Results& results) {
  std::string text = fmt::format("{}, {}{}\n", sgl::describe(results.device), results.over,
                                 results.quick ? ", quick mode: times mean nothing" : "");
  for (Shape shape : kShapes) {
    const Table table(results, shape);
    if (table.counts().empty()) continue;
    text += throughput(table, shape);
    text += against(table, shape, Way::packed, "packing");
    text += against(table, shape, Way::single, "WRs of one SGE");
    text += against(table, shape, Way::apart, "segments registered apart");
    text += against(table, shape, Way::unaligned, "unaligned segments");
    text += claims(table, shape);
  }
  return text + scenarios(results);
}

namespace {

json row_json(const Row& row) {
  return {{"shape", name_of(row.what.shape)},
          {"way", name_of(row.what.way)},
          {"sges", row.what.sges},
          {"segment_bytes", row.what.segment_bytes},
          {"segments", row.what.segments},
          {"ns", row.timing.ns},
          {"cpu_ns", row.timing.cpu_ns},
          {"mb_s", row.mb_s()}};
}

template <class Name, size_t N>
Name by_name(const std::array<Name, N>& all, const std::string& text) {
  for (Name one : all) {
    if (text == name_of(one)) return one;
  }
  throw std::invalid_argument(text);
}

Row row_from(const json& row) {
  return {{by_name(kShapes, row.at("shape")), by_name(kWays, row.at("way")), row.at("sges"),
           row.at("segment_bytes"), row.at("segments")},
          {row.at("ns"), row.at("cpu_ns")}};
}

}  // namespace

json to_json(const Results& results) {
  json document{{"device",
                 {{"name", results.device.name},
                  {"firmware", results.device.firmware},
                  {"vendor_id", results.device.vendor_id},
                  {"part_id", results.device.part_id}}},
                {"over", results.over},
                {"quick", results.quick},
                {"rows", json::array()},
                {"pieces", json::array()},
                {"storage", json::array()}};
  for (const Row& row : results.rows) document["rows"].push_back(row_json(row));
  for (const PiecesRow& row : results.pieces) {
    document["pieces"].push_back({{"pieces", row.pieces},
                                  {"copied", row_json(row.copied)},
                                  {"listed", row_json(row.listed)}});
  }
  for (const StorageRow& row : results.storage) {
    document["storage"].push_back({{"way", name_of(row.way)},
                                   {"blocks", row.blocks},
                                   {"operations", row.operations},
                                   {"ns", row.timing.ns},
                                   {"cpu_ns", row.timing.cpu_ns},
                                   {"operations_s", row.operations_s()},
                                   {"cpu_us_each", row.cpu_us_each()}});
  }
  return document;
}

Result<Results> from_json(const json& document) try {
  const json& device = document.at("device");
  Results results;
  results.device = {device.at("name"), device.at("firmware"), device.at("vendor_id"),
                    device.at("part_id")};
  results.over = document.at("over");
  results.quick = document.at("quick");
  for (const json& row : document.at("rows")) results.rows.push_back(row_from(row));
  for (const json& row : document.at("pieces")) {
    results.pieces.push_back(
        {row.at("pieces"), row_from(row.at("copied")), row_from(row.at("listed"))});
  }
  for (const json& row : document.at("storage")) {
    results.storage.push_back({by_name(kStorageWays, row.at("way")),
                               row.at("blocks"),
                               row.at("operations"),
                               {row.at("ns"), row.at("cpu_ns")}});
  }
  return results;
} catch (const std::exception& failure) {
  return sgl::error(SGLCOLL_ERR_ARG, "no results of sge_sweep: {}", failure.what());
}

}  // namespace sge_sweep
