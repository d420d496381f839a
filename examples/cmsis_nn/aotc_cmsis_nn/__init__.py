"""CMSIS-NN as a code generator of aotc: int8 convolutions, products and pools for Cortex-M."""

from aotc_cmsis_nn.generator import CmsisNN

CODEGEN = CmsisNN()
"""The entry point."""
