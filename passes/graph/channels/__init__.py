"""Channels of tensors for `fold-channels`: how operations pass them on, what they can be, and who needs them.

* `flow`       how each operation passes channels on: one by one, summed up with constant weights, or unknown
* `intervals`  between which numbers the elements of each channel are, whatever the inputs
* `needs`      which channels have to be computed
"""
