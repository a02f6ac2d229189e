"""SONiC: `config_db.json` of each switch."""

from fireflyer.render.sonic.config_db import files, text

__all__ = ["files", "text"]
