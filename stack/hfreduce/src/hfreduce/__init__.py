"""All-reduce on the processors, for GPUs without NVLink: an open HFReduce.

    import hfreduce
    with hfreduce.Communicator() as job:      # rank and size from the launcher's environment
        job.allreduce(gradients, "avg")

The paper is Fire-Flyer AI-HPC (SC'24), section IV; the README says where this differs.
"""

from hfreduce.communicator import Communicator, ReduceOp, Work
from hfreduce.errors import HFReduceError
from hfreduce.settings import JobSettings, NodeSettings

__all__ = ["Communicator", "HFReduceError", "JobSettings", "NodeSettings", "ReduceOp", "Work"]
__version__ = "0.1.0"
