"""The commands `aotc` and `aotc-opt`: arguments into options, errors into exit codes."""
