#include "simgrid/report.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sgl::net {
namespace {

using nlohmann::json;

json outcome_json(const Outcome& outcome) {
  return {{"us", outcome.seconds * 1e6},
          {"messages", outcome.messages},
          {"network_messages", outcome.network_messages},
          {"network_bytes", outcome.network_bytes}};
}

Outcome outcome_of(const json& value) {
  return {value["us"].get<double>() / 1e6, value["messages"], value["network_messages"],
          value["network_bytes"]};
}

json row_json(const Row& row) {
  return {{"platform", row.platform},
          {"nodes", row.nodes},
          {"per_node", row.per_node},
          {"placement", row.placement},
          {"collective", row.collective},
          {"algorithm", row.algorithm},
          {"bytes", row.bytes},
          {"flat", outcome_json(row.flat)},
          {"shaped", outcome_json(row.shaped)}};
}

bool differ(const Row& row) {
  return row.flat.network_messages != row.shaped.network_messages ||
         row.flat.seconds != row.shaped.seconds;
}

}  // namespace

std::string row_text(const Row& row) {
  return row_json(row).dump();
}

Row parse_row(const std::string& text) {
  const json row = json::parse(text);
  return {row["platform"],          row["nodes"],     row["per_node"], row["placement"],
          row["collective"],        row["algorithm"], row["bytes"],    outcome_of(row["flat"]),
          outcome_of(row["shaped"])};
}

std::string table_head() {
  return fmt::format("{:<10}{:>6}{:>7} {:<8}{:<21}{:<20}{:>9}{:>12}{:>12}{:>7}{:>11}{:>11}",
                     "platform", "nodes", "ranks", "placed", "collective", "algorithm", "bytes",
                     "flat us", "shaped us", "ratio", "net msgs", "shaped");
}

std::string table_line(const Row& row) {
  const bool both = row.flat.messages > 0;
  auto or_dash = [&](const std::string& text) { return both ? text : std::string("-"); };
  return fmt::format(
      "{:<10}{:>6}{:>7} {:<8}{:<21}{:<20}{:>9}{:>12}{:>12.1f}{:>7}{:>11}{:>11}", row.platform,
      row.nodes, row.nodes * row.per_node, row.placement, row.collective, row.algorithm, row.bytes,
      or_dash(fmt::format("{:.1f}", row.flat.seconds * 1e6)), row.shaped.seconds * 1e6,
      or_dash(fmt::format("{:.2f}", row.flat.seconds / row.shaped.seconds)),
      or_dash(std::to_string(row.flat.network_messages)), row.shaped.network_messages);
}

Status write_json(const std::vector<Row>& rows, const std::string& file) {
  json all = json::array();
  for (const Row& row : rows) all.push_back(row_json(row));
  std::ofstream out(file);
  out << json{{"rows", all}}.dump(1) << "\n";
  out.close();
  return out ? Status() : error(SGLCOLL_ERR_SYSTEM, "{} cannot be written", file);
}

Status write_plots(const std::vector<Row>& rows, const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return error(SGLCOLL_ERR_SYSTEM, "{}: {}", folder, failure.message());
  // By plot, then by curve: points of (ranks, us).
  std::map<std::string, std::map<std::string, std::vector<std::pair<int, double>>>> plots;
  for (const Row& row : rows) {
    if (!differ(row)) continue;
    auto& curves =
        plots[fmt::format("{}_{}_{}_{}", row.platform, row.placement, row.collective, row.bytes)];
    const int ranks = row.nodes * row.per_node;
    if (row.flat.messages > 0)
      curves[row.algorithm + " flat"].emplace_back(ranks, row.flat.seconds * 1e6);
    curves[row.algorithm + " shaped"].emplace_back(ranks, row.shaped.seconds * 1e6);
  }
  for (const auto& [name, curves] : plots) {
    const std::string script = fmt::format("{}/{}.gnuplot", folder, name);
    std::ofstream out(script);
    out << "set terminal svg size 720,480 font 'sans,12' background rgb 'white'\n"
        << "set output '" << folder << "/" << name << ".svg'\n"
        << "set title '" << name << "' noenhanced\nset key left top noenhanced\n"
        << "set logscale xy\nset xlabel 'ranks'\nset ylabel 'us'\nset grid\nplot ";
    const char* comma = "";
    for (const auto& [curve, points] : curves) {
      out << comma << "'-' with linespoints title '" << curve << "'";
      comma = ", ";
    }
    out << "\n";
    for (const auto& [curve, points] : curves) {
      for (const auto& [ranks, us] : points) out << ranks << " " << us << "\n";
      out << "e\n";
    }
    out.close();
    if (std::system(("gnuplot '" + script + "'").c_str()) != 0)
      return error(SGLCOLL_ERR_SYSTEM, "gnuplot {} failed", script);
    std::filesystem::remove(script, failure);
  }
  return {};
}

}  // namespace sgl::net
