"""From IR of the last phase to files: C, LLVM, objects, libraries, and how large they are."""
