"""Static memory planning: plain classes, no IR.

* `program`    storages and the tasks that read and write them
* `schedule`   in which order the tasks run
* `plan`       order, sharing in place and offsets together: `plan_memory`
* `placement`  offsets for buffers of known size and lifetime: `place`, `search`
* `pools`      which of several memories each buffer is in: `in_pools`
* `skyline`    the exact search for offsets within a capacity: `fit`
"""
