"""The components on AWS."""

from __future__ import annotations

import pulumi_aws as aws

from infra.aws.compute import Compute
from infra.aws.dns import Dns
from infra.aws.image import Image
from infra.aws.management import Management
from infra.aws.network import Network
from infra.aws.placement import Placement
from infra.aws.security import Security
from infra.aws.stop import Stop
from infra.aws.storage import Storage
from infra.aws.watch import Watch
from infra.parts import Cloud

CLOUD = Cloud(
    provider=lambda plan: aws.Provider("aws", region=plan.intent.region),
    network=Network,
    security=Security,
    placement=Placement,
    image=Image,
    compute=Compute,
    storage=Storage,
    management=Management,
    dns=Dns,
    watch=Watch,
    stop=Stop,
)
