#include "perf/sge_sweep/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

namespace sge_sweep {

namespace {

// A block of "segment MB/s" for each SGE count, as gnuplot's `index` takes them.
void write_data(std::ofstream& file, const Results& results, Shape shape, Way way,
                const std::vector<uint32_t>& counts) {
  for (uint32_t sges : counts) {
    for (const Row& row : results.rows) {
      if (row.what.shape != shape || row.what.way != way || row.what.sges != sges) continue;
      file << row.what.segment_bytes << ' ' << row.mb_s() << '\n';
    }
    file << "\n\n";
  }
}

std::string script(const Results& results, Shape shape, const std::vector<uint32_t>& counts) {
  const std::string name = name_of(shape);
  std::string text = fmt::format(
      "set terminal svg size 900,560 background 'white' font 'sans,13'\n"
      "set output '{0}.svg'\nset title '{0} on {1}: full lines SGL, dashed packed'\n"
      "set xlabel 'bytes a segment'\nset ylabel 'MB/s'\nset logscale x 2\nset logscale y 10\n"
      "set grid\nset key left top\nplot",
      name, results.device.name);
  for (size_t i = 0; i < counts.size(); i++) {
    text += fmt::format(
        "{0} '{1}_sgl.dat' index {2} with linespoints lt {3} pt 7 ps 0.4 title '{4} SGEs', "
        "'{1}_packed.dat' index {2} with lines lt {3} dt 2 notitle",
        i == 0 ? "" : ",", name, i, i + 1, counts[i]);
  }
  return text + "\n";
}

bool run_gnuplot(const std::string& folder, const std::string& file) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(folder.c_str()) == 0) execlp("gnuplot", "gnuplot", file.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

}  // namespace

Status plot(const Results& results, const std::string& folder) {
  std::vector<uint32_t> counts{1, 2, 4, 8, 16, 30};
  std::erase_if(counts, [&](uint32_t sges) {  // gnuplot wants no empty line
    return std::none_of(results.rows.begin(), results.rows.end(),
                        [&](const Row& row) { return row.what.sges == sges; });
  });
  for (Shape shape : kShapes) {
    const std::string name = name_of(shape), script_name = name + ".gp";
    for (Way way : {Way::sgl, Way::packed}) {
      std::ofstream data(fmt::format("{}/{}_{}.dat", folder, name, name_of(way)));
      write_data(data, results, shape, way, counts);
      if (!data)
        return sgl::error(SGLCOLL_ERR_SYSTEM, "--plot {}: it cannot be written to", folder);
    }
    std::ofstream(fmt::format("{}/{}", folder, script_name)) << script(results, shape, counts);
    if (!run_gnuplot(folder, script_name)) {
      return sgl::error(SGLCOLL_ERR_SYSTEM, "gnuplot failed, or is not here; {}/{} is its input",
                        folder, script_name);
    }
  }
  return {};
}

}  // namespace sge_sweep
