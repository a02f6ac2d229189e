"""NetBox through its API: compare a site with it, create what is missing, update what differs."""
