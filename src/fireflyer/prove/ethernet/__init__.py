"""An Ethernet fabric, proved: every file read by FRR, a small one of its shape alive."""
