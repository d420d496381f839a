"""The contract between phases: every attribute `aot.*` by which one phase tells a later one something.

Nobody else spells these names: passes, emitters and the pipeline use the accessors here, which say what an attribute
means and from which phase on it holds. By who carries them:

- `arguments`: the arguments of the entry and of kernels (`aot.name`, `aot.dtype`, `aot.io`, `aot.noalias`, ...),
  what these are whatever they become (`aot.parameters`), and the inputs and outputs that are in the workspace
  (`aot.tensors`);
- `functions`: the entry and the kernels (`aot.entry`, `aot.kernel`, `aot.in_place`, `aot.convention`, ...), and what
  is in them (`aot.nonpositive`);
- `module`: the model as a whole (`aot.name`, `aot.target`, `aot.interface`, `aot.threads`, `aot.plan`, ...);
- `weights`: where weights lie (`aot.weight_layout` of the module, `aot.weights` of a blob).

`fields` has how such attributes are read and written.
"""

# pyright: reportUnusedImport=false
from aotc.dialects.aot.contract.arguments import (
    CAME,
    PARAMETERS,
    PUSHED,
    RETAINED,
    STATES,
    TENSORS,
    Argument,
    Io,
    State,
    Tensor,
    WorkspacePlace,
    append_argument,
    argument_of,
    arguments_of,
    carried_by_entry,
    has_tensors_in_workspace,
    insert_argument,
    is_stateful,
    parameters_of,
    results_of,
    set_arguments,
    set_results,
    set_signature,
    shares_workspace,
    states_of,
    streamed_of,
    tensors_of,
    workspace_arguments,
)
from aotc.dialects.aot.contract.functions import (
    BRANCHES,
    CONVENTION,
    ENTRY,
    EXTERNAL,
    IN_PLACE,
    NONPOSITIVE,
    NOTES,
    OPERATION_COUNT,
    OPERATION_TYPE,
    RESOURCE_HANDLE,
    RINGS,
    SCALAR_FALLBACK,
    SCHEDULE,
    TRAILS,
    WITHIN,
    External,
    InPlace,
    RowRing,
    Sizes,
    entries,
    entry,
    first_output,
    functions,
    is_in_region,
    is_kernel,
    kernel_calls,
    kernels,
    mark_kernel,
    set_sizes,
    sizes_of,
)
from aotc.dialects.aot.contract.module import (
    FOLDED_CHANNELS,
    FORMS,
    IN_FLOATS,
    INTERFACE,
    MODEL_SHA256,
    OPERATOR_ARGUMENTS,
    PINS,
    PLAN,
    POOLS,
    RECORDED,
    SELFTEST,
    TARGET,
    THREADS,
    WEIGHTS,
    WEIGHTS_POOL,
    WORKSPACE,
    Recorded,
    form_of,
    has_plan,
    model_module,
    model_name,
    model_name_or,
    operator_arguments,
    plan_of,
    sections_of,
    target_of,
    threads_of,
    workspace_alignment,
)
from aotc.dialects.aot.contract.placements import (
    EMBEDDED,
    MINIMUM_BLOB,
    WEIGHT_LAYOUT,
    WeightLayout,
    places_in_blob,
    weight_offsets,
    weight_sizes,
)
