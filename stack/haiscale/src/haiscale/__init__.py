"""Parallel training on clusters of PCIe GPUs, over PyTorch's own parts.

The names are those of the published examples of DeepSeek's HaiScale: `haiscale.ddp`,
`haiscale.fsdp`, `haiscale.pipeline`, `haiscale.utils`; `haiscale.tensor` and `haiscale.expert`
are ours. `haiscale.layout` and `haiscale.planner` need no torch.
"""

__version__ = "0.1.0"
