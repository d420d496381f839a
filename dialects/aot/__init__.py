"""The aot dialect: what a compile unit has that tensors and loops do not.

Weights, the workspace, bare pointers, argument structures, status checks, and the attributes that record a calling
convention. Every operation here prints as one C construct and lowers to a few LLVM instructions; both emitters take all
of them, so a pass that changes a convention writes IR once for both ends (`profile` aside).
"""

# pyright: reportUnusedImport=false
from xdsl.dialects.arith import ArithConstantMaterializationInterface
from xdsl.ir import Dialect

from aotc.dialects.aot.control import (
    CheckOp,
    CountersOp,
    FModOp,
    IsAlignedOp,
    IsNullOp,
    OpaqueOp,
    PhaseOp,
    RequireOp,
    RoundProductOp,
    ThreadOp,
    TicksOp,
)
from aotc.dialects.aot.instruction import InstructionOp
from aotc.dialects.aot.pointers import BufferOp, DataOp, NullOp, PtrCastOp, StringOp, WeightOp, WeightsOp, WorkspaceOp
from aotc.dialects.aot.structures import AddressOp, AllocaOp, ElementOp, FieldOp, SetElementOp, SetFieldOp
from aotc.dialects.aot.tables import GlobalOp, SymbolOp, integers
from aotc.dialects.aot.tile_integers import (
    TileDotOp,
    TileDotPairOp,
    TileLookupOp,
    TileNarrowOp,
    TilePickOp,
    TileRescaleOp,
)
from aotc.dialects.aot.tile_memory import PrefetchOp, TileLoadOp, TileStoreOp
from aotc.dialects.aot.tiles import (
    TileCompareOp,
    TileConvertOp,
    TileInsertOp,
    TileReduceOp,
    TileSelectOp,
    TileShuffleOp,
    TileSliceOp,
    TileTransposeOp,
    is_splat,
    tile_shape,
    tile_type,
)
from aotc.dialects.aot.types import STRUCTS, VOID_PTR, Convention, ConventionAttr, PtrType, StructType
from aotc.dialects.aot.words import LANES, QUAD, STRIP, WORD, QuadOp, WordLoadOp, WordStoreOp
from aotc.dialects.operations import operations_in

AOT = Dialect(
    "aot",
    list(operations_in(__name__)),
    [PtrType, StructType, ConventionAttr],
    [ArithConstantMaterializationInterface()],
)

TILE_OPERATIONS = tuple(op for op in AOT.operations if op.name.startswith("aot.tile_"))
"""Those on tiles."""
