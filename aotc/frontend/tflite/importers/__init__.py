"""One function for each operator of TensorFlow Lite, in the module of its family."""
