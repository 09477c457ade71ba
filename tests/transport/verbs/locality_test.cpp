// How far devices are, on machines that are folders like those of sysfs.
#include "transport/verbs/locality.hpp"

#include "transport/verbs/choice.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

namespace fs = std::filesystem;

class Locality : public ::testing::Test {
 protected:
  Locality() {
    std::string name = (fs::temp_directory_path() / "sglcoll-sysfs.XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    sys_ = name;
  }
  ~Locality() override { fs::remove_all(sys_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((sys_ / path).parent_path());
    std::ofstream(sys_ / path) << text << '\n';
  }
  void add_node(int number, const std::string& processors, const std::string& distances) {
    const std::string folder = "devices/system/node/node" + std::to_string(number);
    write(folder + "/cpulist", processors);
    write(folder + "/distance", distances);
  }
  void add_device(const std::string& name, int node) {
    write("class/infiniband/" + name + "/device/numa_node", std::to_string(node));
  }
  int distance(const std::string& device, std::vector<int> processors) {
    return distance_to_device(sys_, device, processors);
  }

  fs::path sys_;
};

// Two packages of two memory nodes, and a number left out, as after a node went offline.
class FourNodes : public Locality {
 protected:
  FourNodes() {
    add_node(0, "0-3,16-19", "10 12 32 32");
    add_node(1, "4-7,20-23", "12 10 32 32");
    add_node(2, "8-11", "32 32 10 12");
    add_node(10, "12-15", "32 32 12 10");
    write("devices/system/node/online", "0-2,10");
    for (int node : {0, 1, 2, 10}) add_device("mlx5_" + std::to_string(node), node);
  }
};

TEST_F(FourNodes, distance_is_that_of_the_nearest_of_the_processors) {
  EXPECT_EQ(distance("mlx5_0", {2}), 10);
  EXPECT_EQ(distance("mlx5_0", {19}), 10) << "in the second range";
  EXPECT_EQ(distance("mlx5_1", {2}), 12);
  EXPECT_EQ(distance("mlx5_10", {2}), 32);
  EXPECT_EQ(distance("mlx5_10", {9}), 12);
  EXPECT_EQ(distance("mlx5_10", {13}), 10) << "columns are in the order of numbers, not of text";
  EXPECT_EQ(distance("mlx5_2", {13}), 12);
  EXPECT_EQ(distance("mlx5_2", {0, 9}), 10);
}

TEST_F(FourNodes, ranks_of_different_nodes_take_different_devices) {
  auto taken = [&](std::vector<int> processors, int rails) {
    std::vector<PortEntry> ports;
    for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_10"}) {
      PortEntry port;
      port.device = name;
      port.port = 1;
      port.active = true;
      port.link = LinkLayer::infiniband;
      port.lid = 1;
      port.megabits = 100'000;
      port.distance = distance(name, processors);
      ports.push_back(port);
    }
    VerbsWishes wishes;
    wishes.rails = rails;
    std::string names;
    for (const PortChoice& choice : choose_ports(ports, wishes).taken)
      names += ports[choice.entry].device + " ";
    return names;
  };
  EXPECT_EQ(taken({0}, 0), "mlx5_0 mlx5_1 ");
  EXPECT_EQ(taken({12}, 0), "mlx5_2 mlx5_10 ");
  EXPECT_EQ(taken({5}, 1), "mlx5_1 ");
  EXPECT_EQ(taken({12}, 1), "mlx5_10 ");
  EXPECT_EQ(taken({0, 5, 8, 12}, 0), "mlx5_0 mlx5_1 ") << "all are near one that may run anywhere";
}

TEST_F(Locality, unknown_is_near) {
  EXPECT_EQ(distance("rxe0", {0}), 0) << "no such file";
  add_device("rxe0", -1);
  add_node(0, "0-3", "10");
  EXPECT_EQ(distance("rxe0", {0}), 0) << "a device without a memory node";
  add_device("mlx5_0", 7);
  EXPECT_EQ(distance("mlx5_0", {0}), 0) << "of a memory node that is not there";
  add_device("mlx5_1", 0);
  EXPECT_EQ(distance("mlx5_1", {9}), 0) << "a processor of no memory node";
  add_node(0, "x-,", "10");
  EXPECT_EQ(distance("mlx5_1", {0}), 0);
}

}  // namespace
}  // namespace sgl::test
