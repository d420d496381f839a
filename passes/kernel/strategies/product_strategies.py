"""The strategies for matrix products and convolutions, by operator."""

from __future__ import annotations

from aotc.dialects.graph.convolution import ConvOp, ConvTransposeOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.packed.convolution.blocked_conv import BlockedConvOp, BlockedConvTransposeOp
from aotc.dialects.graph.packed.convolution.within_lanes import NarrowConvolutionOp
from aotc.dialects.graph.packed.integers.channels_last import (
    ChannelsLastConvOp,
    ChannelsLastDepthwiseConvOp,
    InterleavedMatMulOp,
)
from aotc.dialects.graph.packed.integers.dot_products import (
    BlockedDotConvOp,
    BlockedDotDepthwiseConvOp,
    BlockedPairDepthwiseConvOp,
    PackedDotMatMulOp,
)
from aotc.dialects.graph.packed.integers.paired_steps import PairedDotConvOp
from aotc.dialects.graph.packed.products.packed_matmul import FewBitsMatMulOp, PackedMatMulOp
from aotc.dialects.graph.packed.products.strassen_matmul import StrassenMatMulOp
from aotc.dialects.graph.packed.winograd.winograd_conv import WinogradConvOp
from aotc.passes.kernel.strategies.convolution.conv_strategy import (
    BlockedConvolutionStrategy,
    BlockedConvStrategy,
    DirectConvStrategy,
)
from aotc.passes.kernel.strategies.convolution.lanes_conv_strategy import LanesConvStrategy
from aotc.passes.kernel.strategies.convolution.narrow_conv_strategy import (
    NarrowConvolutionStrategy,
    NarrowConvStrategy,
    PositionsConvStrategy,
)
from aotc.passes.kernel.strategies.convolution.winograd_strategy import WinogradConvStrategy, WinogradStrategy
from aotc.passes.kernel.strategies.integers.channels_last_strategy import (
    ChannelsLastConvStrategy,
    ChannelsLastDepthwiseStrategy,
    ChannelsLastStrategy,
    InterleavedMatMulStrategy,
    InterleavedProductStrategy,
)
from aotc.passes.kernel.strategies.integers.dot_conv_strategy import BlockedDotConvStrategy, DotConvStrategy
from aotc.passes.kernel.strategies.integers.dot_depthwise_strategy import (
    BlockedDotDepthwiseStrategy,
    BlockedPairDepthwiseStrategy,
    DotDepthwiseStrategy,
)
from aotc.passes.kernel.strategies.integers.dot_matmul_strategy import DotMatMulStrategy, PackedDotMatMulStrategy
from aotc.passes.kernel.strategies.integers.dot_winograd_strategy import WinogradDotStrategy
from aotc.passes.kernel.strategies.integers.few_bits_strategy import FewBitsMatMulStrategy, FewBitsStrategy
from aotc.passes.kernel.strategies.integers.paired_steps_strategy import PairedConvStrategy, PairedDotConvStrategy
from aotc.passes.kernel.strategies.matmul_strategy import MatMulStrategy, PackedMatMulStrategy
from aotc.passes.kernel.strategies.strassen_strategy import StrassenMatMulStrategy, StrassenStrategy
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
    BlockedPairDepthwiseConvOp: (BlockedPairDepthwiseStrategy(),),
    BlockedConvTransposeOp: (BlockedConvolutionStrategy(),),
    NarrowConvolutionOp: (NarrowConvolutionStrategy(),),
    WinogradConvOp: (WinogradConvStrategy(),),
    ChannelsLastConvOp: (ChannelsLastConvStrategy(),),
    ChannelsLastDepthwiseConvOp: (ChannelsLastDepthwiseStrategy(),),
    InterleavedMatMulOp: (InterleavedMatMulStrategy(),),
}
