#include "info/drawing.hpp"

#include "info/report.hpp"
#include "info/svg.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sgl::info {
namespace {

constexpr double kMargin = 24, kRowName = 64, kLeft = kMargin + kRowName, kRowHeight = 26,
                 kRowGap = 4, kSeat = 26, kRadius = 10;
constexpr double kTreeStep = 56, kHeading = 34, kRingDepth = 110, kLegendHeight = 40;
constexpr double kLeastWidth = 560;
constexpr const char* kInk = "#232a31";

// By Level: fills of boxes.
constexpr const char* kFills[kLevelCount] = {"#eef1f4", "#dfe6ee", "#d5e8dc", "#fbe8c8",
                                             "#fdf3dc", "#e4dff2", "#ffffff"};
// By place in Node::levels: edges from far (red) to near (blue).
constexpr const char* kEdges[kLevelCount] = {"#c0392b", "#d9772b", "#c9a227", "#6a9a3b",
                                             "#3c8d5a", "#2f7f8f", "#3b64a8"};

class Drawing {
 public:
  Drawing(const Node& node, const Plan& plan) : node_(node), plan_(plan) {
    place_columns();
    find_depths();
  }

  std::string draw() {
    const double machine =
        kHeading + static_cast<double>(node_.levels.size()) * (kRowHeight + kRowGap);
    const double devices = static_cast<double>(node_.devices.size()) * (kRowHeight + kRowGap);
    const double tree = kHeading + (deepest_ + 1) * kTreeStep;
    Svg svg(kLeft + width_ + kMargin,
            2 * kMargin + machine + devices + kHeading + kRingDepth + tree + kLegendHeight);
    double y = kMargin;
    draw_machine(&svg, y);
    draw_devices(&svg, y + machine);
    draw_ring(&svg, y += machine + devices);
    draw_tree(&svg, y += kHeading + kRingDepth);
    draw_legend(&svg, y + tree);
    return svg.finish();
  }

 private:
  struct Column {
    double left, width;
  };

  // Columns are as wide as the most ranks on one PU need, and stand the farther apart the
  // less two neighbours share.
  void place_columns() {
    std::vector<int> ranks_on(node_.pus.size(), 0);
    for (int pu : plan_.pus) ++ranks_on[node_.position_of(pu)];
    const double width = kSeat * std::max(1, std::ranges::max(ranks_on));
    double x = kLeft;
    for (int i = 0; i < static_cast<int>(node_.pus.size()); ++i) {
      if (i > 0) x += 3.0 * node_.distance(i - 1, i);
      columns_.push_back({x, width});
      x += width;
    }
    // A small machine is spread over the least width.
    const double stretch = std::max(1.0, kLeastWidth / (x - kLeft));
    for (Column& column : columns_)
      column = {kLeft + (column.left - kLeft) * stretch, column.width * stretch};
    width_ = (x - kLeft) * stretch;
    std::vector<int> seated(node_.pus.size(), 0);
    for (int pu : plan_.pus) {
      const int position = node_.position_of(pu);
      const Column& column = columns_[position];
      rank_x_.push_back(column.left +
                        column.width * (++seated[position] - 0.5) / ranks_on[position]);
    }
  }

  void find_depths() {
    depth_.assign(plan_.pus.size(), 0);
    std::vector<int> open = {plan_.tree.root};
    while (!open.empty()) {
      const int rank = open.back();
      open.pop_back();
      deepest_ = std::max(deepest_, depth_[rank]);
      for (int child : plan_.tree.children[rank]) {
        depth_[child] = depth_[rank] + 1;
        open.push_back(child);
      }
    }
  }

  Box box_of(const Domain& domain, double y) const {
    const Column& first = columns_[domain.first_pu];
    const Column& last = columns_[domain.first_pu + domain.pu_count - 1];
    return {first.left, y, last.left + last.width - first.left, kRowHeight};
  }

  static bool fits(const std::string& text, const Box& box) {
    return static_cast<double>(text.size()) * 6.2 + 4 <= box.width;
  }

  static void label(Svg* svg, const Box& box, const std::string& text) {
    svg->centred_text({box.x + box.width / 2, box.y + kRowHeight / 2 + 4}, 11, text, kInk);
  }

  // From long to short.
  static std::vector<std::string> labels_of(const Domain& domain, int index) {
    const std::string number = fmt::format("{}", domain.os_index >= 0 ? domain.os_index : index);
    if (domain.bytes == 0) return {number, number};
    return {fmt::format("{}: {}", number, format_bytes(domain.bytes)), number};
  }

  // One level: all boxes have the long label, or all the short one, or none.
  void draw_row(Svg* svg, Level level, double y) {
    svg->text({kMargin, y + kRowHeight / 2 + 4}, 11, level_name(level), kInk);
    const auto domains = node_.at(level);
    size_t form = 0;
    for (size_t i = 0; i < domains.size(); ++i) {
      const auto labels = labels_of(domains[i], static_cast<int>(i));
      while (form < labels.size() && !fits(labels[form], box_of(domains[i], y))) ++form;
    }
    for (size_t i = 0; i < domains.size(); ++i) {
      const Box box = box_of(domains[i], y);
      const auto labels = labels_of(domains[i], static_cast<int>(i));
      svg->box(box, kFills[static_cast<size_t>(level)],
               fmt::format("{} {}", level_name(level), labels.front()));
      if (form < labels.size()) label(svg, box, labels[form]);
    }
  }

  void draw_machine(Svg* svg, double y) {
    svg->text({kMargin, y + 16}, 14, node_.name, kInk);
    y += kHeading;
    for (Level level : node_.levels) {
      draw_row(svg, level, y);
      y += kRowHeight + kRowGap;
    }
  }

  void draw_devices(Svg* svg, double y) {
    for (const NearDevice& device : node_.devices) {
      const Box box = box_of(device.locality, y);
      svg->box(box, "#d6ecf5", "RDMA device " + device.name);
      if (fits(device.name, box)) label(svg, box, device.name);
      svg->text({kMargin, y + kRowHeight / 2 + 4}, 11, "RDMA", kInk);
      y += kRowHeight + kRowGap;
    }
  }

  const char* edge_colour(int a, int b) const {
    const Level shared = level_between(node_, plan_, a, b);
    return kEdges[std::ranges::find(node_.levels, shared) - node_.levels.begin()];
  }

  void draw_rank(Svg* svg, int rank, double y) {
    const Point at = {rank_x_[rank], y};
    svg->disc(at, kRadius, rank == plan_.leader ? "#ffd966" : "#ffffff",
              fmt::format("rank {} on PU {}{}", rank, plan_.pus[rank],
                          rank == plan_.leader ? ", leader" : ""));
    svg->centred_text({at.x, at.y + 4}, rank < 100 ? 11 : 9, std::to_string(rank), kInk);
  }

  void draw_ring(Svg* svg, double y) {
    svg->text({kMargin, y + 20}, 13, fmt::format("Ring of {} ranks", plan_.ring.size()), kInk);
    y += kHeading + kRadius;
    for (size_t i = 0; plan_.ring.size() > 1 && i < plan_.ring.size(); ++i) {
      const int from = plan_.ring[i], to = plan_.ring[(i + 1) % plan_.ring.size()];
      const double span = std::abs(rank_x_[from] - rank_x_[to]);
      svg->arc({rank_x_[from], y}, {rank_x_[to], y},
               16 + (kRingDepth - 46) * std::sqrt(span / width_), edge_colour(from, to));
    }
    for (int rank : plan_.ring) draw_rank(svg, rank, y);
  }

  void draw_tree(Svg* svg, double y) {
    svg->text({kMargin, y + 20}, 13,
              fmt::format("Tree from rank {}, {} deep (leader: {})", plan_.tree.root, deepest_,
                          plan_.leader_reason),
              kInk);
    y += kHeading + kRadius;
    const int ranks = static_cast<int>(plan_.pus.size());
    for (int rank = 0; rank < ranks; ++rank)
      for (int child : plan_.tree.children[rank])
        svg->line({rank_x_[rank], y + depth_[rank] * kTreeStep},
                  {rank_x_[child], y + depth_[child] * kTreeStep}, edge_colour(rank, child));
    for (int rank = 0; rank < ranks; ++rank) draw_rank(svg, rank, y + depth_[rank] * kTreeStep);
  }

  void draw_legend(Svg* svg, double y) {
    double x = kMargin;
    svg->text({x, y + 20}, 11, "Edges share:", kInk);
    x += 76;
    for (size_t i = 0; i < node_.levels.size(); ++i) {
      svg->line({x, y + 16}, {x + 16, y + 16}, kEdges[i]);
      svg->text({x + 20, y + 20}, 11, level_name(node_.levels[i]), kInk);
      x += 76;
    }
  }

  const Node& node_;
  const Plan& plan_;
  std::vector<Column> columns_;  // by position
  std::vector<double> rank_x_;
  std::vector<int> depth_;  // in the tree
  int deepest_ = 0;
  double width_ = 0;
};

}  // namespace

std::string draw(const Node& node, const Plan& plan) {
  return Drawing(node, plan).draw();
}

}  // namespace sgl::info
