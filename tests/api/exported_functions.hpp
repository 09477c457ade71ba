// What the library exports and what its header declares, so that tests notice a function
// that they do not know.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sgl::test {

// The functions in the dynamic symbol table of the loaded library.
std::set<std::string> exported_functions();
// Names of the parameters of every function that a header declares with SGLCOLL_API.
std::map<std::string, std::vector<std::string>> declared_parameters(const std::string& header_path);

}  // namespace sgl::test
