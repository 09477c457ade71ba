# Filled with the install rules of the library, its headers and package files.
