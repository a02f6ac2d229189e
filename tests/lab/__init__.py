"""The lab: the site `inventory/lab` as containers on this machine."""
