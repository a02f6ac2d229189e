"""What `ansible-doc` prints of `plugins/action/sshd_reload.py`, which does it."""

DOCUMENTATION = r"""
module: sshd_reload
short_description: Load sshd's configuration unless it locks Ansible out
version_added: "0.1.0"
description:
  - Tests the configuration on the host with C(sshd -t), arms a timer there, reloads sshd, opens a
    new connection, and stops the timer once that connection is there. Where it is not, the host
    puts the former configuration back by itself.
  - All of it is one task. A task is done on every host of the play before the next one begins,
    and a timer would run out meanwhile.
options:
  undo:
    description:
      - Shell command that puts the former configuration back. It runs on the host, without Ansible.
    type: str
    required: true
  undo_after_s:
    description: Time in seconds after which the host does so; the new connection has half of it.
    type: int
    required: true
  fail_msg:
    description: What to say where nobody can log in any more.
    type: str
    required: true
requirements:
  - systemd on the host, and sshd as its service C(ssh)
author:
  - The blueprint's authors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Load it, and let the host take it back unless a new login succeeds
  fireflyer.cluster.sshd_reload:
    undo: rm /etc/ssh/sshd_config.d/10-site.conf
    undo_after_s: 90
    fail_msg: Nobody gets in under 10-site.conf.
"""

RETURN = r"""
changed:
  description: Always true, since sshd read its configuration anew.
  returned: success
  type: bool
"""
