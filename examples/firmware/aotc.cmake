# aotc_add_model(NAME MODEL.onnx [OPTION...]): a static library NAME of the model compiled to C;
# link it and include "NAME.h".
# Options are those of `aotc compile`. The model is compiled again when its file changes.
find_program(AOTC aotc REQUIRED)

function(aotc_add_model name model)
  get_filename_component(model "${model}" ABSOLUTE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  add_custom_command(
    OUTPUT "${folder}/${name}.c" "${folder}/${name}.h"
    COMMAND "${AOTC}" compile "${model}" -o "${folder}" --name "${name}" ${ARGN}
    DEPENDS "${model}"
    VERBATIM)
  add_library(${name} STATIC "${folder}/${name}.c")
  target_include_directories(${name} PUBLIC "${folder}")
  target_compile_options(${name} PRIVATE -ffp-contract=off)  # results do not depend on the processor
  target_link_libraries(${name} PUBLIC m)
endfunction()
