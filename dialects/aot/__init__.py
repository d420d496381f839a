"""The aot dialect: what a compile unit has that tensors and loops do not.

Weights, the workspace, bare pointers, argument structures, status checks, and the attributes that record a calling
convention. Every operation here prints as one C construct and lowers to a few LLVM instructions; both emitters take all
of them, so a pass that changes a convention writes IR once for both ends (`profile` aside).
"""

from xdsl.dialects.arith import ArithConstantMaterializationInterface
from xdsl.ir import Dialect, Operation

from aotc.dialects.aot.control import CheckOp, FModOp, IsAlignedOp, IsNullOp, RequireOp
from aotc.dialects.aot.instruction import InstructionOp
from aotc.dialects.aot.opaque import OpaqueOp
from aotc.dialects.aot.picks import TilePickOp
from aotc.dialects.aot.pointers import BufferOp, DataOp, NullOp, PtrCastOp, StringOp, WeightOp, WeightsOp, WorkspaceOp
from aotc.dialects.aot.profile import CountersOp, TicksOp
from aotc.dialects.aot.rounding import RoundProductOp
from aotc.dialects.aot.structures import AddressOp, AllocaOp, ElementOp, FieldOp, SetElementOp, SetFieldOp
from aotc.dialects.aot.tables import GlobalOp, SymbolOp, integers
from aotc.dialects.aot.threads import PhaseOp, ThreadOp
from aotc.dialects.aot.tile_dots import TileDotOp, TileDotPairOp
from aotc.dialects.aot.tile_lookups import TileLookupOp
from aotc.dialects.aot.tile_narrowing import TileNarrowOp
from aotc.dialects.aot.tiles import (
    PrefetchOp,
    TileCompareOp,
    TileConvertOp,
    TileInsertOp,
    TileLoadOp,
    TileReduceOp,
    TileSelectOp,
    TileShuffleOp,
    TileSliceOp,
    TileStoreOp,
    TileTransposeOp,
    is_splat,
    tile_shape,
    tile_type,
)
from aotc.dialects.aot.types import STRUCTS, VOID_PTR, Convention, ConventionAttr, PtrType, StructType
from aotc.dialects.aot.words import (
    LANES,
    QUAD,
    RUN,
    WORD,
    WORD_OPERATIONS,
    QuadOp,
    WordLoadOp,
)

TILE_OPERATIONS: tuple[type[Operation], ...] = (
    TileLoadOp,
    TileStoreOp,
    TileSliceOp,
    TileInsertOp,
    TileReduceOp,
    TileShuffleOp,
    TilePickOp,
    TileLookupOp,
    TileNarrowOp,
    TileTransposeOp,
    TileCompareOp,
    TileSelectOp,
    TileConvertOp,
    PrefetchOp,
    TileDotOp,
    TileDotPairOp,
)
"""Those of AOT on tiles."""

AOT = Dialect(
    "aot",
    [
        WeightOp,
        WorkspaceOp,
        WeightsOp,
        BufferOp,
        DataOp,
        PtrCastOp,
        NullOp,
        StringOp,
        AllocaOp,
        ElementOp,
        SetElementOp,
        FieldOp,
        SetFieldOp,
        AddressOp,
        GlobalOp,
        SymbolOp,
        IsAlignedOp,
        IsNullOp,
        CheckOp,
        RequireOp,
        FModOp,
        TicksOp,
        CountersOp,
        ThreadOp,
        PhaseOp,
        RoundProductOp,
        OpaqueOp,
        InstructionOp,
        *TILE_OPERATIONS,
        *WORD_OPERATIONS,
    ],
    [PtrType, StructType, ConventionAttr],
    [ArithConstantMaterializationInterface()],
)

__all__ = [
    "AOT",
    "LANES",
    "QUAD",
    "RUN",
    "STRUCTS",
    "TILE_OPERATIONS",
    "VOID_PTR",
    "WORD",
    "AddressOp",
    "AllocaOp",
    "BufferOp",
    "CheckOp",
    "Convention",
    "ConventionAttr",
    "CountersOp",
    "DataOp",
    "ElementOp",
    "FModOp",
    "FieldOp",
    "GlobalOp",
    "InstructionOp",
    "IsAlignedOp",
    "IsNullOp",
    "NullOp",
    "OpaqueOp",
    "PhaseOp",
    "PrefetchOp",
    "PtrCastOp",
    "PtrType",
    "QuadOp",
    "RequireOp",
    "RoundProductOp",
    "SetElementOp",
    "SetFieldOp",
    "StringOp",
    "StructType",
    "SymbolOp",
    "ThreadOp",
    "TicksOp",
    "TileCompareOp",
    "TileConvertOp",
    "TileDotOp",
    "TileDotPairOp",
    "TileInsertOp",
    "TileLoadOp",
    "TileLookupOp",
    "TileNarrowOp",
    "TilePickOp",
    "TileReduceOp",
    "TileSelectOp",
    "TileShuffleOp",
    "TileSliceOp",
    "TileStoreOp",
    "TileTransposeOp",
    "WeightOp",
    "WeightsOp",
    "WordLoadOp",
    "WorkspaceOp",
    "integers",
    "is_splat",
    "tile_shape",
    "tile_type",
]
