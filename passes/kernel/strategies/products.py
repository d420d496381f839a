"""The strategies for matrix products and convolutions, by operator."""

from __future__ import annotations

from aotc.dialects.graph.convolution import ConvOp, ConvTransposeOp
from aotc.dialects.graph.matmul import MatMulOp
from aotc.dialects.graph.packed.channels_last import (
    ChannelsLastConvOp,
    ChannelsLastDepthwiseConvOp,
    InterleavedMatMulOp,
)
from aotc.dialects.graph.packed.conv import BlockedConvOp, BlockedConvTransposeOp
from aotc.dialects.graph.packed.dot_depthwise import BlockedDotDepthwiseConvOp, BlockedPairDepthwiseConvOp
from aotc.dialects.graph.packed.dots import BlockedDotConvOp, PackedDotMatMulOp
from aotc.dialects.graph.packed.few_bits import FewBitsMatMulOp
from aotc.dialects.graph.packed.matmul import PackedMatMulOp
from aotc.dialects.graph.packed.narrow import NarrowConvolutionOp
from aotc.dialects.graph.packed.paired_dots import PairedDotConvOp
from aotc.dialects.graph.packed.strassen import StrassenMatMulOp
from aotc.dialects.graph.packed.winograd import WinogradConvOp
from aotc.passes.kernel.strategies.conv import BlockedConvolutionStrategy, BlockedConvStrategy, DirectConvStrategy
from aotc.passes.kernel.strategies.integers.channels_last import (
    ChannelsLastConvStrategy,
    ChannelsLastDepthwiseStrategy,
    ChannelsLastStrategy,
    InterleavedMatMulStrategy,
    InterleavedProductStrategy,
)
from aotc.passes.kernel.strategies.integers.dot_conv import BlockedDotConvStrategy, DotConvStrategy
from aotc.passes.kernel.strategies.integers.dot_depthwise import BlockedDotDepthwiseStrategy, DotDepthwiseStrategy
from aotc.passes.kernel.strategies.integers.dot_matmul import DotMatMulStrategy, PackedDotMatMulStrategy
from aotc.passes.kernel.strategies.integers.dot_winograd import WinogradDotStrategy
from aotc.passes.kernel.strategies.integers.few_bits import FewBitsMatMulStrategy, FewBitsStrategy
from aotc.passes.kernel.strategies.integers.paired_conv import PairedConvStrategy, PairedDotConvStrategy
from aotc.passes.kernel.strategies.lanes_conv import LanesConvStrategy
from aotc.passes.kernel.strategies.matmul import MatMulStrategy, PackedMatMulStrategy
from aotc.passes.kernel.strategies.narrow_conv import (
    NarrowConvolutionStrategy,
    NarrowConvStrategy,
    PositionsConvStrategy,
)
from aotc.passes.kernel.strategies.strassen import StrassenMatMulStrategy, StrassenStrategy
from aotc.passes.kernel.strategies.winograd import WinogradConvStrategy, WinogradStrategy
from aotc.passes.kernel.strategy import Strategies

STRATEGIES: Strategies = {
    MatMulOp: (
        MatMulStrategy(),
        StrassenStrategy(),
        FewBitsStrategy(),
        DotMatMulStrategy(),
        InterleavedProductStrategy(),
    ),
    FewBitsMatMulOp: (FewBitsMatMulStrategy(),),
    PackedMatMulOp: (PackedMatMulStrategy(),),
    PackedDotMatMulOp: (PackedDotMatMulStrategy(),),
    StrassenMatMulOp: (StrassenMatMulStrategy(),),
    ConvOp: (
        DirectConvStrategy(),
        NarrowConvStrategy(),
        PositionsConvStrategy(),
        LanesConvStrategy(),
        WinogradStrategy(),
        ChannelsLastStrategy(),
        DotConvStrategy(),
        DotDepthwiseStrategy(),
        WinogradDotStrategy(),
        PairedConvStrategy(),
    ),
    ConvTransposeOp: (DirectConvStrategy(), NarrowConvStrategy()),
    BlockedConvOp: (BlockedConvStrategy(),),
    BlockedDotConvOp: (BlockedDotConvStrategy(),),
    PairedDotConvOp: (PairedDotConvStrategy(),),
    BlockedDotDepthwiseConvOp: (BlockedDotDepthwiseStrategy(),),
    BlockedPairDepthwiseConvOp: (BlockedDotDepthwiseStrategy(),),
    BlockedConvTransposeOp: (BlockedConvolutionStrategy(),),
    NarrowConvolutionOp: (NarrowConvolutionStrategy(),),
    WinogradConvOp: (WinogradConvStrategy(),),
    ChannelsLastConvOp: (ChannelsLastConvStrategy(),),
    ChannelsLastDepthwiseConvOp: (ChannelsLastDepthwiseStrategy(),),
    InterleavedMatMulOp: (InterleavedMatMulStrategy(),),
}
